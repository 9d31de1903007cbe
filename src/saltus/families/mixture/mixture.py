"""The families of one fit: what a user chooses, and what becomes of it on given data.

A fit has one family or several. Everything outside `families` speaks to the mixture, which asks each family about its
own terms.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import cast

import numpy as np

from saltus._typing import Bools, Floats, Ints
from saltus.families.family import Family, FittedFamily
from saltus.families.inputs import FamilyRows
from saltus.families.mixture.inspection import MixtureInspection
from saltus.families.mixture.preparation import make_families
from saltus.families.mixture.search import MixtureSearch
from saltus.families.product.family import FittedProduct, Product
from saltus.families.radial.family import FittedRadial
from saltus.families.registry import PRODUCT, RADIAL, RIDGE, WAVE, Families, count_own_parameters
from saltus.families.terms import TermSet, join_terms
from saltus.families.wave.periodogram import inform

# An input as it is, within the data and beyond.
LINEAR_TERMS = Product("identity", max_inputs=1, extrapolate="free")

# Columns of several networks are evaluated together up to so many numbers.
NUMBERS_AT_A_TIME = 1_000_000


@dataclass(frozen=True)
class Mixture:
    """Families that a network may mix."""

    families: tuple[Family, ...]

    @property
    def chooses_inputs(self) -> bool:
        """Whether there are terms that choose some of the inputs. There may then be hundreds, and searches grow."""
        return not all(family.is_radial for family in self.families)

    @property
    def most_columns(self) -> int:
        """The columns of a term, of the family that has most."""
        return max(family.n_columns for family in self.families)

    @property
    def known_cost(self) -> int | None:
        """How many parameters a term should count for, where families know it and agree; linear terms follow suit."""
        costs = {family.known_cost for family in self.families if family != LINEAR_TERMS}
        return costs.pop() if len(costs) == 1 else None

    def with_linear_terms(self) -> "Mixture":
        """Add terms that are an input as it is, each in or out like any other."""
        return self if LINEAR_TERMS in self.families else Mixture((*self.families, LINEAR_TERMS))

    def variants(self, *, several: bool) -> tuple["Mixture", ...]:
        """List what chains may be made of, where the options of families leave that open."""
        each = (family.variants(several=several) for family in self.families)
        return tuple(Mixture(chosen) for chosen in product(*each))

    def fit(self, rows: FamilyRows) -> "FittedMixture":
        """Fit all families to rows."""
        if self.chooses_inputs:
            # A scale that terms of one family do not see would weigh these against others.
            rows = replace(rows, rescale=False)
        fitting = self.families
        if rows.U.shape[1] > 0 and rows.numbers.shape[1] == 0:
            fitting = tuple(family for family in fitting if not family.needs_numbers)
            if not fitting:
                raise ValueError(
                    f"Every input is a category, and the terms of {self.families[0]!r} are functions of numbers. "
                    f"Choose a basis with products, such as 'steps', or leave it at 'auto'."
                )
        return FittedMixture(tuple(family.fit(rows) for family in fitting))


@dataclass(frozen=True)
class FittedMixture:
    """The families of a fit on given data, with all methods about their terms. A value, which a model keeps.

    The number of a family is its place among the members. A fresh term is of each with the same probability.
    """

    members: tuple[FittedFamily, ...]

    @cached_property
    def n_choices(self) -> int:
        """The number of discrete choices of a term, of the family that has most."""
        return max(member.n_choices for member in self.members)

    @cached_property
    def n_parameters(self) -> int:
        """The number of parameters of a term, each in [0, 1], of the family that has most."""
        return max(member.n_parameters for member in self.members)

    @cached_property
    def radial_family(self) -> int:
        """The number of the family whose terms share parameters, or -1."""
        return next((f for f, member in enumerate(self.members) if member.geometry == RADIAL), -1)

    @property
    def _radial(self) -> FittedRadial:
        """The radial family, where there is one."""
        return cast(FittedRadial, self.members[self.radial_family])

    @property
    def starting_shared(self) -> Floats:
        """The shared parameters (s,) that descents start from."""
        return np.concatenate([member.starting_shared for member in self.members])

    @property
    def n_switches(self) -> int:
        """The number of shared parameters that may be in or out; 0 where they are given."""
        return sum(member.n_switches for member in self.members)

    @property
    def moves_shared(self) -> bool:
        """Whether there are shared parameters for a chain to move."""
        return self.n_switches > 0

    @property
    def chooses_inputs(self) -> bool:
        """Whether there are terms that choose some of the inputs: searches then start by adding terms one by one."""
        return any(member.geometry != RADIAL for member in self.members)

    @property
    def wants_descent(self) -> bool:
        """Whether even a sampler should not start at random terms."""
        return self.moves_shared or self.chooses_inputs

    @property
    def parameter_counts(self) -> tuple[int, int]:
        """What a term counts for, its coefficients aside: at least, and at most."""
        least, most = zip(*(member.parameter_counts for member in self.members), strict=True)
        return min(least), max(most)

    @property
    def worth_of_sets(self) -> int:
        """What sets of levels of a term are worth at most, in parameters."""
        products = [cast(FittedProduct, member) for member in self.members if member.geometry == PRODUCT]
        return max((member.worth_of_sets for member in products), default=0)

    @cached_property
    def n_columns(self) -> Ints:
        """The columns (F,) of a term of each family."""
        return np.array([member.n_columns for member in self.members])

    def most_parameters(self, n_outputs: int) -> int:
        """Say what a term counts for at most, its coefficients included."""
        return int(self.n_columns.max()) * n_outputs + self.parameter_counts[1]

    def owners_of_columns(self, terms: TermSet) -> Ints:
        """Find which term each of the q columns is of, (q,): those of a term follow each other."""
        return np.repeat(np.arange(len(terms)), self.n_columns[terms.family])

    def count_first_term(self, families: Families, shared: Floats) -> int:
        """Count the parameters of a first term, its coefficients aside: a radial one, or the smallest there can be."""
        if families.counts_levels_only:
            return 0
        if self.radial_family >= 0:
            return count_own_parameters(families, self.radial_family, np.zeros(0, dtype=np.int64), shared)
        return self.parameter_counts[0]

    def coefficient_scales(self, terms: TermSet) -> Floats:
        """Find what coefficients (q,) inside are divided by to be in the user's units."""
        return np.array([member.coefficient_scale for member in self.members])[self._family_of_columns(terms)]

    def _family_of_columns(self, terms: TermSet) -> Ints:
        return np.repeat(terms.family, self.n_columns[terms.family])

    def coefficient_spreads(self, terms: TermSet) -> tuple[Floats, Floats]:
        """Find the standard deviations (q,) that coefficients have before data are seen, and the largest they may have.

        In standard deviations of the output; infinite where nothing holds. Radial terms alone are held by nothing.
        """
        if not self.chooses_inputs:
            return np.full(len(terms), np.inf), np.full(len(terms), np.inf)
        family = self._family_of_columns(terms)
        spread = np.array([member.coefficient_spread for member in self.members])
        widest = np.array([member.widest_spread for member in self.members])
        return spread[family], widest[family]

    @property
    def search(self) -> MixtureSearch:
        """What descents, starts and hops ask."""
        return MixtureSearch(self)

    @property
    def inspection(self) -> MixtureInspection:
        """What summaries, reports and pictures ask."""
        return MixtureInspection(self)

    def families(
        self,
        U: Floats,
        *,
        ridge: bool,
        counts_levels_only: bool = False,
        like: Families | None = None,
        draws_terms: bool = True,
    ) -> Families:
        """Prepare rows U (N, v) of the unit cube for kernels, or share those that another variant has prepared.

        `ridge` says whether coefficients have a prior; `counts_levels_only`, whether a term counts for a given number
        of parameters, and sets of levels on top of that for what they are worth; `draws_terms`, whether kernels draw
        terms there, or only evaluate some.
        """
        return make_families(
            self, U, ridge=ridge, counts_levels_only=counts_levels_only, like=like, draws_terms=draws_terms
        )

    def informed(self, families: Families, residuals: Floats, root_weight: Floats) -> Families:
        """Let families draw terms where residuals (n_tiles, c, L) suggest, those of rows times the roots of weights.

        Families that draw from nu stay as they are.
        """
        wave = families.wave
        if wave is None or wave.span.size == 0:
            return families
        low, weighted = wave.inputs.ends[:, 0], residuals * root_weight[:, None]
        found = inform(wave.inputs.rows, low, wave.span, wave.cycles[:, 0], weighted)
        return families._replace(wave=wave._replace(informed=found))

    def limited_to(self, families: Families, among: Bools) -> Families:
        """Let fresh terms be of some families (F,) alone."""
        weight = np.where(among, np.exp(families.log_weight), 0.0)
        return families._replace(shares=np.cumsum(weight) / weight.sum())

    @cached_property
    def grown_from(self) -> tuple[Bools, ...]:
        """The sets of families (F,) that networks are grown from, of which the best is taken.

        All of them; all without waves, which come in first and keep others out that are worth more; and polynomials
        alone, which say all there is to say of a smooth function without noise, unless others have had their say.
        """
        waves = np.array([member.geometry == WAVE for member in self.members])
        linear, polynomials = self._products_of("identity"), self._products_of("polynomial")
        sets = [np.ones(len(self.members), dtype=bool)]
        if waves.any() and not (waves | linear).all():
            sets.append(~waves)
        if polynomials.any() and not (polynomials | linear).all():
            sets.append(polynomials | linear)
        return tuple(sets)

    @cached_property
    def descended_from(self) -> Bools | None:
        """The families (F,) whose networks may be worth a long descent: ridges, as one hidden layer is trained."""
        ridges = np.array([member.geometry == RIDGE for member in self.members])
        return ridges | self._products_of("identity") if ridges.any() else None

    def _products_of(self, profile: str) -> Bools:
        """Say which families (F,) are products of this profile alone."""
        return np.array(
            [
                member.geometry == PRODUCT and cast(FittedProduct, member).options.profiles == (profile,)
                for member in self.members
            ]
        )

    def is_informed(self, among: Bools | None = None) -> bool:
        """Say whether some family, of all or of some (F,), draws terms where residuals suggest."""
        return any(member.geometry == WAVE and (among is None or among[f]) for f, member in enumerate(self.members))

    def accepts(self, terms: TermSet) -> bool:
        """Say whether terms, of a file say, could be terms of this mixture."""
        return bool(
            terms.choices.shape[1] == self.n_choices
            and terms.parameters.shape[1] == self.n_parameters
            and self.accepts_shared(terms.shared)
            and ((terms.parameters >= 0) & (terms.parameters <= 1)).all()
            and ((terms.family >= 0) & (terms.family < len(self.members))).all()
            and all(member.accepts(own) for member, _, own in self.each(terms))
        )

    def accepts_shared(self, shared: Floats) -> bool:
        """Say whether terms could share these parameters (s,)."""
        if self.radial_family < 0:
            return shared.size == 0
        return shared.shape == self.starting_shared.shape and self._radial.accepts_shared(shared)

    def own(self, terms: TermSet, family: int) -> TermSet:
        """Take the terms of one family, as it knows them."""
        return self.as_own(terms.take(terms.family == family), family)

    def as_own(self, terms: TermSet, family: int) -> TermSet:
        """Cut terms of a family to what it knows of them."""
        member = self.members[family]
        shared = terms.shared if family == self.radial_family else terms.shared[:0]
        choices, parameters = terms.choices[:, : member.n_choices], terms.parameters[:, : member.n_parameters]
        return TermSet(terms.family, choices, parameters, shared)

    def padded(self, own: TermSet, family: int, shared: Floats) -> TermSet:
        """Make terms of one family those of the mixture."""
        k = len(own)
        choices, parameters = np.zeros((k, self.n_choices), dtype=np.int64), np.zeros((k, self.n_parameters))
        choices[:, : own.choices.shape[1]], parameters[:, : own.parameters.shape[1]] = own.choices, own.parameters
        return TermSet(np.full(k, family), choices, parameters, shared)

    def empty(self, shared: Floats | None = None) -> TermSet:
        """Make no terms."""
        none = np.zeros(0, dtype=np.int64)
        choices, parameters = np.zeros((0, self.n_choices), dtype=np.int64), np.zeros((0, self.n_parameters))
        return TermSet(none, choices, parameters, self.starting_shared if shared is None else shared)

    def each(self, terms: TermSet) -> list[tuple[FittedFamily, Ints, TermSet]]:
        """List the families that have terms: each with the numbers of these, and the terms."""
        found = []
        for family, member in enumerate(self.members):
            which = np.flatnonzero(terms.family == family)
            if which.size or len(self.members) == 1:
                found.append((member, which, self.own(terms, family)))
        return found

    def encode(self, points: Floats) -> TermSet:
        """Make terms of points (k, v) of the unit cube that a user gave as a start: radial ones."""
        if len(points) == 0:
            return self.empty()
        if self.radial_family < 0:
            raise ValueError(
                "init gives points for the centres of terms, and no family of basis has centres. Leave init at its "
                "default, or add a radial family such as 'gaussian' to basis."
            )
        own = self._radial.encode(points)
        return self.padded(own, self.radial_family, self.starting_shared)

    def draw(self, rng: np.random.Generator, n: int, shared: Floats | None = None) -> TermSet:
        """Draw n terms from nu, the law of a fresh term; they share what is given, or what descents start from."""
        shared = self.starting_shared if shared is None else shared
        if len(self.members) == 1:
            return self.padded(self.members[0].draw(rng, n), 0, shared)
        terms = self.empty(shared)
        for family in rng.integers(len(self.members), size=n).tolist():
            terms = terms.followed_by(self.padded(self.members[family].draw(rng, 1), family, shared))
        return terms

    def draw_shared(self, rng: np.random.Generator) -> Floats:
        """Draw the shared parameters (s,) from their prior; those that are given stay."""
        return self._radial.draw_shared(rng) if self.moves_shared else self.starting_shared

    def columns(self, U: Floats, terms: TermSet) -> Floats:
        """Evaluate the columns of the terms at rows U (N, v) of the unit cube: (N, q)."""
        if len(self.members) == 1:
            return self.members[0].columns(U, self.own(terms, 0))
        owner = self.owners_of_columns(terms)
        columns = np.empty((len(U), owner.size))
        for member, which, own in self.each(terms):
            columns[:, np.isin(owner, which)] = member.columns(U, own)
        return columns

    def columns_of_each(self, U: Floats, sets: Sequence[TermSet]) -> Iterator[Floats]:
        """Do the same for several networks, one after the other.

        Terms that share nothing are evaluated some networks at a time: what a call costs is most of the cost of a small
        network at a few rows.
        """
        n_at_a_time = 1 if self.starting_shared.size else len(sets)
        n_columns = [self.owners_of_columns(terms).size for terms in sets]
        first = 0
        while first < len(sets):
            ends = np.cumsum(n_columns[first : first + n_at_a_time])
            n_sets = max(int((ends * len(U) <= NUMBERS_AT_A_TIME).sum()), 1)
            columns = self.columns(U, join_terms(sets[first : first + n_sets]))
            yield from np.split(columns, ends[: n_sets - 1], axis=1)
            first += n_sets


def check_families(families: Sequence[Family]) -> tuple[Family, ...]:
    """Check the families that a network shall mix."""
    if not families:
        raise ValueError("basis is an empty list. Give at least one family.")
    strange = [each for each in families if isinstance(each, type) or not hasattr(each, "variants")]
    if strange:
        raise ValueError(f"basis has {strange[0]!r}, neither a family nor the name of one. Give families alone.")
    if len(set(families)) < len(families):
        raise ValueError(f"basis has a family twice: {list(families)!r}. Give each once.")
    if sum(family.is_radial for family in families) > 1:
        raise ValueError("basis has more than one radial family. Give one: its terms share a metric.")
    return tuple(families)
