"""A network as the numbers of a formula, in the user's units, with as many digits as it takes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from saltus._typing import Floats
from saltus.engine.results.network import Network
from saltus.families.family import TermNumbers
from saltus.families.words import MINUS, InputName, round_digits
from saltus.inspection.document import count

# Rounded numbers move predictions by no more than this share of the scale of the output.
ROUNDING = 1e-3
FEWEST_DIGITS, MOST_DIGITS = 4, 17
# Looked at in so many places.
N_POINTS = 500


@dataclass(frozen=True)
class Formula:
    """y_i = intercept_i + z'linear_i + sum_j coefficients_ij column_j(z), where z = x - origin.

    The origin is 0 but for inputs that are far from 0 compared with their range: of x + 1e12, x is left. What terms
    are, the family says.

    Attributes
    ----------
    origin : ndarray of shape (d,)
    intercept : ndarray of shape (c,)
    linear : ndarray of shape (c, d)
    coefficients : ndarray of shape (c, q)
        Of the columns of the terms.
    terms : TermNumbers
        The terms; `terms.columns` evaluates them at z.
    at_gaps : ndarray of shape (d,)
        What a missing value of z counts as in the linear term.
    """

    origin: Floats  # (d,)
    intercept: Floats  # (c,)
    linear: Floats  # (c, d)
    coefficients: Floats  # (c, q), of the columns of the terms
    terms: TermNumbers
    at_gaps: Floats  # (d,), what a missing value counts as in the linear term

    @classmethod
    def of(cls, network: Network) -> "Formula":
        """Take the numbers of a network."""
        inspection = network.mixture.inspection
        origin = network.box.origin * inspection.can_be_shifted
        near = replace(network, box=network.box.counted_from(origin))
        terms = inspection.numbers(near.box, near.terms)
        return cls(origin, near.intercept, near.linear_coef, near.term_coef, terms, near.at_gaps)

    @property
    def has_terms(self) -> bool:
        """Whether there are any terms."""
        return self.coefficients.shape[1] > 0

    def predict(self, X: Floats) -> Floats:
        """Evaluate the formula at X (N, d), numbers and codes of levels as `encode` gives them: (N, c)."""
        Z = X - self.origin
        linear = np.where(np.isnan(Z), self.at_gaps, Z) @ self.linear.T
        return self.intercept + linear + self.terms.columns(Z) @ self.coefficients.T

    def names(self, inputs: Sequence[InputName]) -> tuple[InputName, ...]:
        """Name what the formula is of, z: "(time - 1e12)" where an input is not counted from 0."""
        return tuple(
            InputName.of(f"({name} {MINUS if origin > 0 else '+'} {format_number(origin)})") if origin else name
            for name, origin in zip(inputs, self.origin.tolist(), strict=True)
        )

    def rounded(self, digits: "Digits") -> "Formula":
        """Keep so many significant digits of every number."""
        return Formula(
            self.origin,
            round_digits(self.intercept, digits.linear),
            round_digits(self.linear, digits.linear),
            round_digits(self.coefficients, digits.terms),
            self.terms.rounded(digits.terms),
            self.at_gaps,
        )


def format_number(origin: float) -> str:
    """Write all digits of the size of a number, and no point behind a whole one."""
    return repr(abs(origin)).removesuffix(".0")


class Digits(NamedTuple):
    """How many digits are written: of the linear term, and of all that makes up the terms."""

    linear: int
    terms: int


def digits_needed(network: Network) -> Digits:
    """Find how many digits keep the formula within a thousandth of the spread of the outputs, in the box of the data.

    Coefficients of terms may be thousands of times larger than their sum: it can take many.
    """
    points = network.box.draw(np.random.default_rng(0), N_POINTS)
    formula = Formula.of(network)

    def is_enough(digits: Digits) -> bool:
        error = np.abs(formula.rounded(digits).predict(points) - network.predict(points)) / network.outputs.scale
        return bool(error.max() <= ROUNDING)

    digits = Digits(MOST_DIGITS, MOST_DIGITS)
    for part in Digits._fields:
        candidates = (digits._replace(**{part: n}) for n in range(FEWEST_DIGITS, MOST_DIGITS))
        digits = next(filter(is_enough, candidates), digits)
    return digits


def describe_best(weights: Floats) -> str:
    """Say what the best network has to do with predictions, which average it with others by these weights."""
    if len(weights) == 1:
        return "This is the whole model."
    return (
        f"This is the best network. Predictions average it, with weight {weights.max():.2f}, and "
        f"{count(len(weights) - 1, 'other')} that the search found; combine='best' predicts with it alone."
    )


def describe_most_probable(n_draws: int) -> str:
    """Say what the network of the draw with the highest density has to do with predictions."""
    return (
        f"This is one network of {count(n_draws, 'draw')}: the one with the highest density, its coefficients at "
        "their posterior mean. Predictions average all of them."
    )
