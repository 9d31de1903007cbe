"""What summaries, reports, files of draws, pictures and ONNX graphs ask of the families of a fit together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from saltus._typing import Bools, Floats, Ints
from saltus.families.box import UnitBox
from saltus.families.family import TermNumbers
from saltus.families.mixture.nodes import MixtureStack
from saltus.families.mixture.numbers import MixtureNumbers
from saltus.families.registry import RADIAL, WAVE
from saltus.families.terms import TermSet
from saltus.families.words import InputUse

if TYPE_CHECKING:
    from saltus.families.mixture.mixture import FittedMixture


@dataclass(frozen=True)
class MixtureInspection:
    """The answers of a fitted mixture, in the user's units."""

    mixture: "FittedMixture"

    @property
    def _is_radial(self) -> bool:
        """Whether all terms are radial."""
        return len(self.mixture.members) == 1 and self.mixture.members[0].geometry == RADIAL

    @property
    def can_be_shifted(self) -> bool:
        """Whether the numbers of all families are right for inputs that are counted from another origin."""
        return all(member.inspection.can_be_shifted for member in self.mixture.members)

    def numbers(self, box: UnitBox, terms: TermSet) -> TermNumbers:
        """Write the terms as the numbers of a formula."""
        each, owner = self.mixture.each(terms), self.mixture.owners_of_columns(terms)
        parts = [(np.flatnonzero(np.isin(owner, which)), own.inspection.numbers(box, of)) for own, which, of in each]
        if len(self.mixture.members) == 1:
            return parts[0][1]
        return MixtureNumbers(tuple(parts), owner.size)

    def attributes(self, box: UnitBox, terms: TermSet) -> dict[str, Floats]:
        """Name what an estimator keeps of its best network."""
        return self.mixture.members[0].inspection.attributes(box, self.mixture.own(terms, 0)) if self._is_radial else {}

    def posterior_attributes(self, box: UnitBox, shared: Floats) -> dict[str, Floats]:
        """Name what an estimator keeps of the shared parameters (n, s) of its draws."""
        return self.mixture.members[0].inspection.posterior_attributes(box, shared) if self._is_radial else {}

    def uses(self, box: UnitBox, terms: TermSet) -> Bools:
        """Say which inputs (k, d) each term uses."""
        used = np.zeros((len(terms), len(box.varies)), dtype=bool)
        for member, which, own in self.mixture.each(terms):
            used[which] = member.inspection.uses(box, own)
        return used

    def use(self, box: UnitBox, terms: TermSet) -> InputUse:
        """Say which inputs (d,) the terms use, and how much."""
        if self._is_radial:
            return self.mixture.members[0].inspection.use(box, self.mixture.own(terms, 0))
        n_using: Ints = self.uses(box, terms).sum(axis=0)
        return _use_by_terms((n_using > 0).astype(np.float64), n_using.astype(np.float64), "")

    def use_in_draws(self, box: UnitBox, n_terms: Ints, terms: TermSet, shared: Floats) -> InputUse:
        """Say how probable it is that terms use each input, and how much: n draws of n_terms (n,) terms each."""
        if self._is_radial:
            return self.mixture.members[0].inspection.use_in_draws(box, n_terms, self.mixture.own(terms, 0), shared)
        used, n_draws = np.zeros((len(terms), len(box.varies)), dtype=bool), len(n_terms)
        draw = np.repeat(np.arange(n_draws), n_terms)
        for family, member in enumerate(self.mixture.members):
            which = np.flatnonzero(terms.family == family)
            if member.geometry == RADIAL and which.size:
                used[np.ix_(which, box.of_first(shared.shape[-1]).varies)] = shared[draw[which]] > 0
            elif which.size:
                used[which] = member.inspection.uses(box, self.mixture.own(terms, family))
        counts = np.zeros((n_draws, len(box.varies)))
        np.add.at(counts, draw, used)
        probability: Floats = (counts > 0).mean(axis=0)
        return _use_by_terms(probability, counts.mean(axis=0), ", in the mean over draws")

    def strength(self, box: UnitBox, terms: TermSet) -> Floats:
        """Say how strongly the terms depend on each input (d,), for one unit of it; 0 where they do not."""
        parts = [member.inspection.strength(box, own) for member, _, own in self.mixture.each(terms)]
        return np.sum([np.zeros(len(box.varies)), *parts], axis=0)

    def places(self, box: UnitBox, terms: TermSet) -> Floats:
        """Say where in the space of inputs the terms are: (k, d), NaN along inputs where they are nowhere."""
        places = np.full((len(terms), len(box.varies)), np.nan)
        for member, which, own in self.mixture.each(terms):
            places[which] = member.inspection.places(box, own)
        return places

    def variables(self, box: UnitBox, terms: TermSet, shared: Floats) -> dict[str, tuple[tuple[str, ...], Floats]]:
        """Name the variables of draws, with the names of their last axes: of terms, and shared ones (..., s)."""
        if self._is_radial:
            return self.mixture.members[0].inspection.variables(box, self.mixture.own(terms, 0), shared)
        found = {
            "family": (("term",), terms.family.astype(np.float64)),
            "places": (("term", "feature"), self.places(box, terms)),
        }
        waves = [family for family, member in enumerate(self.mixture.members) if member.geometry == WAVE]
        if waves:
            frequency = np.full((len(terms), len(box.varies)), np.nan)
            for family in waves:
                own, inspection = self.mixture.own(terms, family), self.mixture.members[family].inspection
                frequency[terms.family == family] = inspection.frequencies(box, own)
            found["frequency"] = (("term", "feature"), frequency)
        if self.mixture.radial_family >= 0:
            relevance = np.zeros((*shared.shape[:-1], len(box.varies)))
            relevance[..., box.of_first(shared.shape[-1]).varies] = shared
            found["relevance"] = (("feature",), relevance)
        return found

    @staticmethod
    def stack(mixtures: Sequence["FittedMixture"], terms: Sequence[TermSet], *, same_shared: bool) -> MixtureStack:
        """Stack the terms of networks for an ONNX graph; `same_shared` where these may share the same."""
        return MixtureStack.of(mixtures, terms, same_shared=same_shared)


def _use_by_terms(probability: Floats, amount: Floats, how: str) -> InputUse:
    return InputUse(
        probability=probability,
        amount=amount,
        name="terms",
        meaning=f"Terms: how many of the terms use the input{how}.",
    )
