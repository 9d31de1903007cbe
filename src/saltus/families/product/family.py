"""Products: what a user chooses, and what becomes of it on given data."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from saltus._typing import Floats, Ints
from saltus.families.choosing import FEWEST_ROWS, Choosing, FittedChoosing
from saltus.families.inputs import FamilyRows
from saltus.families.line_profiles import (
    BUMP,
    HAT,
    IDENTITY,
    POLYNOMIAL,
    SIDED,
    WAVE,
    degree_of,
    replace_by_profiles,
)
from saltus.families.options import PRODUCT_PROFILES
from saltus.families.product.inspection import ProductInspection
from saltus.families.product.kernels import A_FACTOR, DECODED_A_FACTOR, FIRST, PARAMETERS_A_FACTOR, SHORTEST, SIZE
from saltus.families.product.search import ProductSearch
from saltus.families.registry import PRODUCT
from saltus.families.terms import TermSet


@dataclass(frozen=True)
class Product(Choosing):
    """Products of functions of up to `max_inputs` inputs, one factor each.

    Parameters
    ----------
    profiles : str or tuple of str
        What factors may be, mixed within one term: "identity" (x), "hinge" (max(x - t, 0) or max(t - x, 0)), "step" (1
        beyond a threshold on either side of it, otherwise 0), "bump" (a Gaussian), "hat" (a Mexican hat), "wave" (a
        cosine) or "polynomial" (Legendre's, of degree 1 to 8).
    max_inputs : int, default=3
        The largest number of factors of a term.
    extrapolate : {"hold", "free"}, default="hold"
        What a term does beyond the range of the rows it was fitted to: stay as it is at the edge, or go on.

    Examples
    --------
    >>> from saltus import Product
    >>> Product("hinge", max_inputs=2)
    Product(profiles=('hinge',), max_inputs=2, extrapolate='hold')
    """

    profiles: str | tuple[str, ...]
    max_inputs: int = 3
    extrapolate: str = "hold"

    noun: ClassVar[str] = "product"
    known_profiles: ClassVar[tuple[str, ...]] = PRODUCT_PROFILES

    def fit(self, rows: FamilyRows) -> "FittedProduct":
        """Fit to rows."""
        return FittedProduct(self, rows.scale)


@dataclass(frozen=True)
class FittedProduct(FittedChoosing):
    """Products on given data, with all methods that the mixture asks."""

    options: Product

    geometry = PRODUCT
    smallest_complement = FEWEST_ROWS

    @property
    def n_choices(self) -> int:
        """The number of discrete choices of a term."""
        return FIRST + A_FACTOR * self.most_inputs

    @property
    def n_parameters(self) -> int:
        """The number of parameters of a term."""
        return PARAMETERS_A_FACTOR * self.most_inputs

    @property
    def n_decoded(self) -> int:
        """The numbers of a decoded term."""
        return 1 + DECODED_A_FACTOR * self.most_inputs

    @property
    def parameter_counts(self) -> tuple[int, int]:
        """What a term counts for: at least, and at most."""
        each = self.counts_of_profiles
        return min(each), max(each) * self.most_inputs

    @property
    def search(self) -> ProductSearch:
        """What descents ask."""
        return ProductSearch(self)

    @property
    def inspection(self) -> ProductInspection:
        """What summaries, reports and pictures ask."""
        return ProductInspection(self)

    def accepts(self, terms: TermSet) -> bool:
        """Say whether terms could be its own."""
        size = terms.choices[:, SIZE]
        if not ((size >= 1) & (size <= self.most_inputs)).all():
            return False
        at = terms.choices[:, FIRST:].reshape(len(terms), self.most_inputs, A_FACTOR)
        inputs, profile, side = at[np.arange(at.shape[1]) < size[:, None]].T
        return bool(
            ((terms.parameters >= 0) & (terms.parameters <= 1)).all()
            and ((inputs >= 0) & (inputs < self.scale.n_inputs)).all()
            and np.isin(profile, self.law.profiles).all()
            and np.isin(side, (0, 1)).all()
        )

    def draw(self, rng: np.random.Generator, n: int) -> TermSet:
        """Draw n terms from nu."""
        choices = np.zeros((n, self.n_choices), dtype=np.int64)
        parameters = np.zeros((n, self.n_parameters))
        codes = np.array(self.law.profiles)
        for row, own in zip(choices, parameters, strict=True):
            g = int(rng.integers(1, self.most_inputs, endpoint=True))
            row[SIZE] = g
            profiles = rng.choice(codes, g)
            sides = np.where(SIDED[profiles], rng.integers(0, 2, g), 0)
            inputs = rng.choice(self.scale.n_inputs, g, replace=False)
            row[FIRST : FIRST + A_FACTOR * g] = np.stack([inputs, profiles, sides], axis=1).ravel()
            own[: PARAMETERS_A_FACTOR * g] = rng.random(PARAMETERS_A_FACTOR * g)
        return TermSet(np.zeros(n, dtype=np.int64), choices, parameters, np.zeros(0))

    def factors(self, terms: TermSet) -> "Factors":
        """Take all factors of terms apart."""
        size = terms.choices[:, SIZE]
        at = terms.choices[:, FIRST:].reshape(len(terms), self.most_inputs, A_FACTOR)
        number, slot = np.nonzero(np.arange(at.shape[1]) < size[:, None])
        inputs, profile, side = at[number, slot].T
        own = terms.parameters.reshape(len(terms), self.most_inputs, PARAMETERS_A_FACTOR)
        u, v = own[number, slot].T
        position = self.scale.position(inputs, u)
        end = np.where(side == 0, self.scale.high[inputs], self.scale.low[inputs])
        ahead = np.where(side == 0, np.maximum(end - position, SHORTEST), np.minimum(end - position, -SHORTEST))
        b = 1.0 / ahead
        narrow, wide = self.scale.log_width[inputs].T
        has_width = (profile == BUMP) | (profile == HAT)
        b[has_width] = np.exp(-(narrow + v * (wide - narrow)))[has_width]
        slow, fast = self.scale.log_frequency[inputs].T
        b[profile == WAVE] = np.exp(slow + v * (fast - slow))[profile == WAVE]
        c = np.where(profile == WAVE, -u, -b * position)
        b[profile == IDENTITY], c[profile == IDENTITY] = 1.0, 0.0
        for each in np.flatnonzero(profile == POLYNOMIAL):
            i = inputs[each]
            low, high = self.scale.low[i], self.scale.high[i]
            b[each], c[each] = 2.0 / (high - low), -(high + low) / (high - low)
            profile[each] = POLYNOMIAL + degree_of(float(u[each]), int(self.scale.highest_degree[i])) - 1
        return Factors(number, slot, inputs, profile, b, c)

    def columns_at(self, X: Floats, terms: TermSet) -> Floats:
        """Do the same for rows that are standardised already."""
        factors = self.factors(terms)
        values = factors.b * X[:, factors.inputs] + factors.c
        replace_by_profiles(values, factors.profile)
        columns = np.ones((len(X), len(terms)))
        for slot in range(self.most_inputs):
            here = factors.slot == slot
            columns[:, factors.term[here]] *= values[:, here]
        return columns

    def decode(self, terms: TermSet) -> Floats:
        """Make terms (k, n) as kernels evaluate them."""
        decoded = np.zeros((len(terms), self.n_decoded))
        decoded[:, 0] = terms.choices[:, SIZE]
        factors = self.factors(terms)
        at = 1 + DECODED_A_FACTOR * factors.slot
        for i, values in enumerate((factors.inputs, factors.profile, factors.b, factors.c)):
            decoded[factors.term, at + i] = values
        return decoded


@dataclass(frozen=True)
class Factors:
    """All factors of some terms, one after the other: phi(b x + c) of an input."""

    term: Ints
    slot: Ints  # which of the factors of its term
    inputs: Ints
    profile: Ints
    b: Floats
    c: Floats
