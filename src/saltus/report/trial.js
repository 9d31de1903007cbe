/* Sliders and choices, the prediction beside them, and the curve along the input that was moved last. */

const POINTS = 121;
const FEW_LEVELS = 6, LONGEST_LEVEL = 9;
const FRAME = { left: 46, right: 312, top: 8, bottom: 178 };

const data = JSON.parse(document.getElementById("model").textContent);
const element = (id) => document.getElementById(id);
let x = data.typical.slice();
let moved = data.inputs.length ? data.inputs[0] : null;

const shown = (value) => Number(value.toPrecision(4)).toString();

/* The ends of the interval of each output. */
function spreadAt(at, mean) {
  const draws = data.draws.map((draw) => predictAt(draw, at, profiles));
  return mean.map((_, c) => {
    let variance = data.noise[c] ** 2;
    if (draws.length) {
      const average = draws.reduce((sum, y) => sum + y[c], 0) / draws.length;
      variance += draws.reduce((sum, y) => sum + (y[c] - average) ** 2, 0) / draws.length;
    }
    return data.reach[c] * Math.sqrt(variance);
  });
}

function placesAlong(input) {
  if (input.levels.length) return input.levels.map((_, code) => code);
  return Array.from({ length: POINTS }, (_, n) => input.low + (n * (input.high - input.low)) / (POINTS - 1));
}

function drawn(tag, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function drawCurve() {
  const picture = element("try-curve");
  picture.replaceChildren();
  if (moved === null) return;
  const places = placesAlong(moved);
  const curve = places.map((place) => predictAt(data.model, x.map((value, i) => (i === moved.at ? place : value)), profiles)[0]);
  const low = Math.min(data.low[0], ...curve), high = Math.max(data.high[0], ...curve);
  const first = places[0], last = places[places.length - 1];
  const room = moved.levels.length ? 0.5 * (FRAME.right - FRAME.left) / places.length : 0; // beside the first and the last level
  const across = (place) => FRAME.left + room + ((place - first) / (last - first || 1)) * (FRAME.right - FRAME.left - 2 * room);
  const up = (y) => FRAME.bottom - ((y - low) / (high - low)) * (FRAME.bottom - FRAME.top);
  picture.append(drawn("path", { class: "axis", d: `M${FRAME.left} ${FRAME.top}V${FRAME.bottom}H${FRAME.right}` }));
  for (const y of [low, high]) {
    picture.append(drawn("text", { x: FRAME.left - 4, y: up(y) + 4, "text-anchor": "end" }, shown(y)));
  }
  if (moved.levels.length) {
    places.forEach((place, n) => {
      picture.append(drawn("circle", { class: "mark", cx: across(place), cy: up(curve[n]), r: 3 }));
      if (places.length > FEW_LEVELS) return;
      const label = moved.levels[place];
      const name = label.length > LONGEST_LEVEL ? `${label.slice(0, LONGEST_LEVEL - 1)}…` : label;
      picture.append(drawn("text", { x: across(place), y: FRAME.bottom + 16, "text-anchor": "middle" }, name));
    });
  } else {
    picture.append(drawn("path", { class: "curve", d: places.map((place, n) => `${n ? "L" : "M"}${across(place)} ${up(curve[n])}`).join("") }));
    picture.append(drawn("text", { x: FRAME.left, y: FRAME.bottom + 16 }, shown(first)));
    picture.append(drawn("text", { x: FRAME.right, y: FRAME.bottom + 16, "text-anchor": "end" }, shown(last)));
  }
  if (x[moved.at] !== null) {
    picture.append(drawn("circle", { class: "here", cx: across(x[moved.at]), cy: up(predictAt(data.model, x, profiles)[0]), r: 5 }));
  }
  element("try-caption").textContent =
    `${data.outputs[0]} along ${moved.name}, the other inputs as they are; the dot is where you are. ` +
    `It is between ${shown(Math.min(...curve))} and ${shown(Math.max(...curve))}.`;
}

function show() {
  const y = predictAt(data.model, x, profiles), half = spreadAt(x, y);
  y.forEach((value, c) => {
    element(`try-y${c}`).value = shown(value);
    element(`try-y${c}`).dataset.exact = String(value);
    element(`try-i${c}`).textContent = `from ${shown(value - half[c])} to ${shown(value + half[c])}`;
  });
  for (const input of data.inputs) {
    const value = x[input.at], control = element(`try-x${input.at}`);
    if (value !== null) control.value = String(value);
    if (!input.levels.length) element(`try-v${input.at}`).value = value === null ? "missing" : shown(value);
    if (input.gaps && !input.levels.length) {
      element(`try-m${input.at}`).checked = value === null;
      control.disabled = value === null;
    }
  }
  drawCurve();
}

for (const input of data.inputs) {
  const control = element(`try-x${input.at}`);
  control.addEventListener("input", () => { x[input.at] = Number(control.value); moved = input; show(); });
  if (input.gaps && !input.levels.length) {
    const missing = element(`try-m${input.at}`);
    missing.addEventListener("change", () => { x[input.at] = missing.checked ? null : Number(control.value); moved = input; show(); });
  }
}
element("try-row").addEventListener("change", (event) => {
  const row = Number(event.target.value);
  x = (row < 0 ? data.typical : data.rows[row]).slice();
  show();
});
show();
