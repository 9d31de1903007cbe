"""Products: what a user chooses, and what becomes of it on given data."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from saltus._typing import Floats, Ints
from saltus.families.choosing import FEWEST_ROWS, Choosing, FittedChoosing
from saltus.families.inputs import LEVELS_A_WORD, FamilyRows, Law
from saltus.families.line_profiles import (
    BUMP,
    HAT,
    IDENTITY,
    LEVEL,
    MISSING,
    OFF_THE_LINE,
    POLYNOMIAL,
    SIDED,
    SUBSET,
    WAVE,
    degree_of,
    replace_by_profiles,
)
from saltus.families.options import PRODUCT_PROFILES
from saltus.families.product.inspection import ProductInspection
from saltus.families.product.kernels import (
    A_FACTOR,
    DECODED_A_FACTOR,
    FIRST,
    PARAMETERS_A_FACTOR,
    SHARE_OF_BEST_SET,
    SHORTEST,
    SIZE,
)
from saltus.families.product.search import ProductSearch
from saltus.families.registry import PRODUCT
from saltus.families.terms import TermSet, are_distinct


@dataclass(frozen=True)
class Product(Choosing):
    """Products of functions of up to `max_inputs` inputs, one factor each.

    Parameters
    ----------
    profiles : str or tuple of str
        The functions that a factor may be; one term may mix them: "identity" (x), "hinge" (max(x - t, 0) or max(t - x,
        0)), "step" (1 on one side of a threshold, 0 on the other), "bump" (a Gaussian), "hat" (a Mexican hat), "wave"
        (a cosine) or "polynomial" (Legendre's, of degree 1 to 8). Whatever the profiles, the factor of a category is 1
        for one level or for a set of levels, and 0 for the others. The factor of an input with missing values may be 1
        where the value is missing, or where it is known; other factors are 0 or 1 there, as the fit finds.
    max_inputs : int, default=3
        The largest number of factors of a term.
    extrapolate : {"hold", "free"}, default="hold"
        Beyond the range of the training rows, a term keeps its value at the edge ("hold") or continues ("free").

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
    needs_numbers: ClassVar[bool] = False

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
    def n_choosable(self) -> int:
        """The number of inputs that a term chooses among: numbers and categories."""
        return self.scale.n_inputs

    @property
    def law(self) -> Law:
        """How terms are drawn: linear terms of a category are its levels, others may be sets of them."""
        return replace(super().law, has_subsets=self.options.profiles != ("identity",))

    @property
    def n_choices(self) -> int:
        """The number of discrete choices of a term."""
        return FIRST + (A_FACTOR + self.scale.n_words) * self.most_inputs

    @property
    def n_parameters(self) -> int:
        """The number of parameters of a term."""
        return PARAMETERS_A_FACTOR * self.most_inputs

    @property
    def n_decoded(self) -> int:
        """The numbers of a decoded term."""
        return 1 + (DECODED_A_FACTOR + self.scale.n_words) * self.most_inputs

    @property
    def parameter_counts(self) -> tuple[int, int]:
        """What a term counts for: at least, and at most."""
        each, worth = self.counts_of_profiles, self.worth_of_sets // max(self.most_inputs, 1)
        if self.scale.n_levels.any() or self.scale.has_gaps.any():
            each = [*each, 0, 1]
        return min(each), max(*each, worth) * self.most_inputs

    @property
    def worth_of_sets(self) -> int:
        """What sets of levels of a term are worth at most, in parameters."""
        if not self.law.has_subsets or not self.scale.n_levels.any():
            return 0
        return (int(np.ceil(SHARE_OF_BEST_SET * (self.scale.n_levels.max() - 1))) - 1) * self.most_inputs

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
        at, words = self._taken_apart(terms)
        in_use = np.arange(self.most_inputs) < size[:, None]
        (inputs, profile, side, at_gap), words = at[in_use].T, words[in_use]
        if not ((inputs >= 0) & (inputs < self.scale.n_inputs)).all():
            return False
        n_levels, has_gaps = self.scale.n_levels[inputs], self.scale.has_gaps[inputs]
        of_numbers = np.isin(profile, self.law.profiles) | ((profile == MISSING) & has_gaps)
        of_levels = (profile == LEVEL) | ((profile == SUBSET) & self.law.has_subsets)
        n_of_word = np.clip(n_levels[:, None] - LEVELS_A_WORD * np.arange(self.scale.n_words), 0, LEVELS_A_WORD)
        n_of_word[profile != SUBSET] = 0
        return bool(
            are_distinct(at[:, :, 0], size)
            and np.where(n_levels > 0, of_levels, of_numbers).all()
            and np.isin(side, (0, 1)).all()
            and np.isin(at_gap, (0, 1)).all()
            and ((words >= 0) & (words < 2**n_of_word)).all()
        )

    def _taken_apart(self, terms: TermSet) -> tuple[Ints, Ints]:
        """Take choices apart: four of each factor (k, G, 4), and the words of each (k, G, W)."""
        end = FIRST + A_FACTOR * self.most_inputs
        at = terms.choices[:, FIRST:end].reshape(len(terms), self.most_inputs, A_FACTOR)
        return at, terms.choices[:, end:].reshape(len(terms), self.most_inputs, self.scale.n_words)

    def draw(self, rng: np.random.Generator, n: int) -> TermSet:
        """Draw n terms from nu."""
        choices = np.zeros((n, self.n_choices), dtype=np.int64)
        parameters = np.zeros((n, self.n_parameters))
        end = FIRST + A_FACTOR * self.most_inputs
        for row, own in zip(choices, parameters, strict=True):
            g = int(rng.integers(1, self.most_inputs, endpoint=True))
            row[SIZE] = g
            inputs = rng.choice(self.scale.n_inputs, g, replace=False)
            for factor, i in enumerate(inputs):
                profile = int(rng.choice(self._profiles_for(int(i))))
                side = rng.integers(0, 2) if SIDED[profile] else 0
                has_choice = self.scale.has_gaps[i] and profile not in (IDENTITY, MISSING)
                at_gap = rng.integers(0, 2) if has_choice else 0
                row[FIRST + A_FACTOR * factor : FIRST + A_FACTOR * (factor + 1)] = i, profile, side, at_gap
                if profile == SUBSET:
                    levels = np.flatnonzero(rng.random(self.scale.n_levels[i]) < 0.5)
                    row[end + self.scale.n_words * factor :][: self.scale.n_words] = self._words(levels)
            own[: PARAMETERS_A_FACTOR * g] = rng.random(PARAMETERS_A_FACTOR * g)
        return TermSet(np.zeros(n, dtype=np.int64), choices, parameters, np.zeros(0))

    def _profiles_for(self, i: int) -> list[int]:
        """List the profiles that suit an input, each as probable as another."""
        if self.scale.n_levels[i] > 0:
            return [LEVEL, SUBSET] if self.law.has_subsets and self.scale.n_levels[i] > 2 else [LEVEL]
        return [*self.law.profiles, *([MISSING] if self.scale.has_gaps[i] else [])]

    def _words(self, levels: Ints) -> Ints:
        """Write a set of levels down."""
        words = np.zeros(self.scale.n_words, dtype=np.int64)
        np.bitwise_or.at(words, levels // LEVELS_A_WORD, 1 << (levels % LEVELS_A_WORD))
        return words

    def factors(self, terms: TermSet) -> "Factors":
        """Take all factors of terms apart."""
        size = terms.choices[:, SIZE]
        at, all_words = self._taken_apart(terms)
        number, slot = np.nonzero(np.arange(at.shape[1]) < size[:, None])
        inputs, profile, side, at_gap = at[number, slot].T
        profile = profile.copy()
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
        off = np.isin(profile, OFF_THE_LINE)
        n_levels = self.scale.n_levels[inputs]
        level = np.minimum((u * n_levels).astype(np.int64), n_levels - 1)
        b[off], c[off] = np.where(profile == LEVEL, level, side)[off], 0.0
        return Factors(number, slot, inputs, profile, b, c, at_gap, all_words[number, slot])

    def columns_at(self, X: Floats, terms: TermSet) -> Floats:
        """Do the same for rows that are standardised already, NaN where a value is missing."""
        factors = self.factors(terms)
        chosen = X[:, factors.inputs]
        values = factors.b * chosen + factors.c
        replace_by_profiles(values, factors.profile)
        for each in np.flatnonzero(np.isin(factors.profile, OFF_THE_LINE)):
            values[:, each] = factors.off_the_line(int(each), chosen[:, each])
        on_a_line = ~np.isin(factors.profile, OFF_THE_LINE) & self.scale.has_gaps[factors.inputs]
        if on_a_line.any():
            values = np.where(np.isnan(chosen) & on_a_line, factors.at_gap, values)
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
        for i, values in enumerate((factors.inputs, factors.profile, factors.b, factors.c, factors.at_gap)):
            decoded[factors.term, at + i] = values
        words = 1 + DECODED_A_FACTOR * terms.choices[factors.term, SIZE] + self.scale.n_words * factors.slot
        for word in range(self.scale.n_words):
            decoded[factors.term, words + word] = factors.words[:, word]
        return decoded


@dataclass(frozen=True)
class Factors:
    """All factors of some terms, one after the other: phi(b x + c) of an input, or of its level, or of its gaps."""

    term: Ints
    slot: Ints  # which of the factors of its term
    inputs: Ints
    profile: Ints
    b: Floats
    c: Floats
    at_gap: Ints  # what a factor is where its input is missing
    words: Ints  # (n, W), the levels in its set

    @property
    def on_lines(self) -> Iterator[tuple[int, int, int, float, float]]:
        """Go through the term, the input, the profile, b and c of each."""
        each = (self.term, self.inputs, self.profile, self.b, self.c)
        return zip(*(values.tolist() for values in each), strict=True)

    def levels(self, which: int) -> Ints:
        """List the levels at which a factor is 1, of a level or a set of levels."""
        if self.profile[which] == LEVEL:
            return self.b[[which]].astype(np.int64)
        words = self.words[which]
        bits = words[:, None] >> np.arange(LEVELS_A_WORD) & 1
        return np.flatnonzero(bits.ravel())

    def off_the_line(self, which: int, x: Floats) -> Floats:
        """Evaluate a factor that is of a category, or of whether a value is missing."""
        if self.profile[which] == MISSING:
            return (np.isnan(x) == (self.b[which] == 0)).astype(np.float64)
        return np.isin(x, self.levels(which)).astype(np.float64)
