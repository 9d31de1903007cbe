"""A network as the numbers of a formula, in the user's units, with as many digits as it takes."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from saltus._typing import Floats
from saltus.engine.results.network import Network
from saltus.families.family import TermNumbers
from saltus.families.words import round_digits
from saltus.inspection.document import count

# Rounded numbers move predictions by no more than this share of the scale of the output.
ROUNDING = 1e-3
FEWEST_DIGITS, MOST_DIGITS = 4, 17
# Looked at in so many places.
N_POINTS = 500


@dataclass(frozen=True)
class Formula:
    """y_i = intercept_i + x'linear_i + sum_j coefficients_ij column_j(x). What the terms are, the family says."""

    intercept: Floats  # (c,)
    linear: Floats  # (c, d)
    coefficients: Floats  # (c, q), of the columns of the terms
    terms: TermNumbers
    at_gaps: Floats  # (d,), what a missing value counts as in the linear term

    @classmethod
    def of(cls, network: Network) -> "Formula":
        """Take the numbers of a network."""
        terms = network.mixture.inspection.numbers(network.box, network.terms)
        return cls(network.intercept, network.linear_coef, network.term_coef, terms, network.at_gaps)

    @property
    def has_terms(self) -> bool:
        """Whether there are any terms."""
        return self.coefficients.shape[1] > 0

    def predict(self, X: Floats) -> Floats:
        """Evaluate the formula at X (N, d): (N, c)."""
        linear = np.where(np.isnan(X), self.at_gaps, X) @ self.linear.T
        return self.intercept + linear + self.terms.columns(X) @ self.coefficients.T

    def rounded(self, digits: "Digits") -> "Formula":
        """Keep so many significant digits of every number."""
        return Formula(
            round_digits(self.intercept, digits.linear),
            round_digits(self.linear, digits.linear),
            round_digits(self.coefficients, digits.terms),
            self.terms.rounded(digits.terms),
            self.at_gaps,
        )


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
