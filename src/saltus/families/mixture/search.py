"""What descents, starts and hops ask of the families of a fit together."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from saltus._tiles import from_tiles, rounded, to_tiles
from saltus._typing import Floats, Ints
from saltus.families.choosing import FittedChoosing
from saltus.families.free import FreeParameters, FreeTerms
from saltus.families.registry import PRODUCT, RADIAL, RIDGE, USER, WAVE, Families, owners_of_columns
from saltus.families.terms import TermSet
from saltus.families.user.data import sample_user_data
from saltus.families.user.fitted import FittedUser

if TYPE_CHECKING:
    from saltus.families.mixture.mixture import FittedMixture


@dataclass(frozen=True)
class MixtureSearch:
    """The answers of a fitted mixture."""

    mixture: "FittedMixture"

    @property
    def _radial(self) -> Any:
        """The search of the radial family, or None."""
        family = self.mixture.radial_family
        return None if family < 0 else self.mixture.members[family].search

    def sample(self, families: Families, rows: Ints) -> Families:
        """Take some rows, rounded, in tiles."""
        if families.radial is not None:
            families = families._replace(radial=self._radial.sample(families.radial, rows))
        if families.user is not None:
            member = next(member for member in self.mixture.members if member.geometry == USER)
            user = sample_user_data(families.user, cast(FittedUser, member), rows)
            families = families._replace(user=user)
        data, wave = families.of_inputs, families.wave
        if data is None:
            return families
        taken = to_tiles(rounded(from_tiles(data.rows)[rows]))
        gaps = to_tiles(from_tiles(data.is_gap)[rows])
        return families._replace(
            product=families.product and families.product._replace(rows=taken, is_gap=gaps),
            ridge=families.ridge and families.ridge._replace(rows=taken, is_gap=gaps),
            wave=wave and wave._replace(inputs=wave.inputs._replace(rows=taken, is_gap=gaps)),
        )

    def free(self, families: Families, terms: TermSet, *, raw: bool = False) -> FreeParameters:
        """Pack what a descent changes. With `raw`, as it is, and shared parameters free even where they are given."""
        mixture = self.mixture
        k = len(terms)
        x: list[Floats] = [np.zeros(0)] * k
        low, high = list(x), list(x)
        owner = owners_of_columns(families, terms)
        decoded = np.zeros((owner.size, families.n_decoded))
        of_geometry = {
            RADIAL: families.radial,
            PRODUCT: families.product,
            RIDGE: families.ridge,
            WAVE: families.wave,
            USER: families.user,
        }
        parts: list[tuple[int, Ints, FreeTerms]] = []
        shared: list[Floats] = [np.zeros(0)] * 4
        for family, member in enumerate(mixture.members):
            which = np.flatnonzero(terms.family == family)
            is_radial = member.geometry == RADIAL
            if which.size == 0 and not is_radial:
                continue
            part: FreeTerms = member.search.free(of_geometry[member.geometry], mixture.own(terms, family), raw=raw)
            parts.append((family, which, part))
            for at, j in enumerate(which.tolist()):
                x[j], low[j], high[j] = part.x[at], part.low[at], part.high[at]
            decoded[np.isin(owner, which), : part.decoded.shape[1]] = part.decoded
            if is_radial:
                families = families._replace(radial=part.data)
                shared = [part.shared, part.x_shared, part.low_shared, part.high_shared]
        n_free = np.array([each.size for each in x], dtype=np.int64)
        ends = np.cumsum(n_free)

        def unpack(point: Floats) -> TermSet:
            points = np.split(point, ends)
            found, of_all = terms.parameters.copy(), terms.shared
            for family, which, part in parts:
                own = part.unpack([points[j] for j in which], points[-1])
                found[which, : own.parameters.shape[1]] = own.parameters
                if family == mixture.radial_family:
                    of_all = own.shared
            return terms.with_parameters(found).with_shared(of_all)

        return FreeParameters(
            families,
            terms.with_shared(shared[0]),
            decoded,
            n_free,
            int(shared[1].size),
            np.concatenate([*x, shared[1]]),
            np.concatenate([*low, shared[2]]),
            np.concatenate([*high, shared[3]]),
            unpack,
        )

    def columns_of_rows(self, families: Families, root_weight: Floats, terms: TermSet) -> Floats:
        """Evaluate the columns of terms at the rows of a fit, times the roots of their weights: (N, q), padded."""
        mixture = self.mixture
        if not mixture.chooses_inputs:
            own = mixture.own(terms, 0)
            columns: Floats = self._radial.columns_of_rows(families.radial, root_weight, own)
            return columns
        owner = owners_of_columns(families, terms)
        Phi = np.empty((root_weight.size, owner.size), order="F")
        data = families.of_inputs
        X = None if data is None else from_tiles(data.rows)
        if X is not None and data is not None and data.is_gap.size > 0:
            X = np.where(from_tiles(data.is_gap) > 0, np.nan, X)
        for member, which, own in mixture.each(terms):
            of_family = np.isin(owner, which)
            if member.geometry == RADIAL:
                Phi[:, of_family] = member.search.columns_of_rows(families.radial, root_weight, own)
            elif member.geometry == USER:
                Phi[:, of_family] = member.search.columns_of_rows(families.user, root_weight, own)
            else:
                assert X is not None
                columns = cast(FittedChoosing, member).columns_at(X, own)
                Phi[:, of_family] = columns * root_weight.reshape(-1, 1)
        return Phi

    def without_one_shared(self, shared: Floats) -> list[Floats]:
        """List shared parameters with one of those in use less, for a search to try."""
        return [] if self._radial is None else self._radial.without_one_shared(shared)

    def draw_start(self, rng: np.random.Generator, families: Families, rows: Ints, weight: Floats, n: int) -> TermSet:
        """Draw n terms to descend from, near some rows of given weights; only where all are radial."""
        own = self._radial.draw_start(rng, families.radial, rows, weight, n)
        return self.mixture.padded(own, self.mixture.radial_family, own.shared)

    def order_by_distance(self, rng: np.random.Generator, families: Families, terms: TermSet, near: int | None) -> Ints:
        """List terms from the nearest to a term, or to a point drawn at random, to the farthest.

        Where terms have no place in common, in any order, the given one first.
        """
        if self.mixture.chooses_inputs:
            order = rng.permutation(len(terms))
            return order if near is None else np.concatenate([[near], order[order != near]])
        own = self.mixture.own(terms, 0)
        point = rng.random((own.parameters.shape[1],)) if near is None else own.parameters[near]
        by_distance: Ints = self._radial.order_by_distance(families.radial, own, point)
        return by_distance

    def shake_shared(self, rng: np.random.Generator, shared: Floats) -> Floats:
        """Disturb the shared parameters."""
        return shared if self._radial is None else self._radial.shake_shared(rng, shared)
