"use strict";

/* What a prediction is made of, evaluated from the numbers of the terms. Inputs are numbers, codes of levels, or null. */

function factorAt(factor, x, profiles) {
  const [name, inputs, slopes, origins, constant, atGap] = factor;
  if (name === "level") return slopes.includes(x[inputs]) ? 1 : 0; // the second is the input, the third its codes
  if (name === "missing") return slopes.includes(x[inputs] === null ? 1 : 0) ? 1 : 0;
  let z = constant;
  for (let i = 0; i < inputs.length; i++) {
    if (x[inputs[i]] === null) return atGap;
    z += slopes[i] * (x[inputs[i]] - origins[i]);
  }
  return profiles[name](z);
}

function heldAt(part, x) {
  return x.map((value, i) => {
    if (value === null) value = part.gaps[i];
    if (value === null || part.low === null || part.low[i] === null) return value;
    return Math.min(Math.max(value, part.low[i]), part.high[i]);
  });
}

const columnsOf = {
  line(part, x, profiles) {
    const held = heldAt(part, x);
    return part.columns.map((factors) => factors.reduce((product, each) => product * factorAt(each, held, profiles), 1));
  },
  radial(part, x, profiles) {
    return part.columns.map(([center, width]) => {
      const away = x.map((value, i) => (value === null ? 0 : value - center[i]));
      let squared = 0;
      if (part.matrix === null) {
        part.scales.forEach((scale, i) => { if (scale !== null) squared += (away[i] / scale) ** 2; });
      } else {
        part.matrix.forEach((row, i) => row.forEach((m, j) => { squared += away[i] * m * away[j]; }));
      }
      return profiles[part.profile](Math.max(squared, 0) / (width * width));
    });
  },
};

function predictAt(model, given, profiles) {
  const x = given.map((value, i) => (value === null ? null : value - model.origin[i]));
  const known = x.map((value, i) => (value === null ? model.gaps[i] : value));
  const y = model.intercept.map((constant, c) => model.linear[c].reduce((sum, slope, i) => sum + slope * known[i], constant));
  for (const part of model.parts) {
    columnsOf[part.kind](part, x, profiles).forEach((column, j) => {
      part.coefficients[j].forEach((coefficient, c) => { y[c] += coefficient * column; });
    });
  }
  return y;
}
