"""What summaries, reports, files of draws and pictures ask of radial terms."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from saltus._typing import Bools, Floats, Ints
from saltus.families.box import UnitBox
from saltus.families.radial.nodes import RadialStack
from saltus.families.radial.numbers import RadialNumbers, metric_matrix
from saltus.families.terms import TermSet
from saltus.families.words import InputUse, on_all_inputs

if TYPE_CHECKING:
    from saltus.families.radial.family import FittedRadial

# The fitted attributes that radial terms give an estimator, by the letters of their axes: k terms, d inputs.
ATTRIBUTES = {"centers_": "kd", "widths_": "k", "metric_": "dd", "relevance_": "d"}
POSTERIOR_ATTRIBUTES = {"relevance_": "d", "inclusion_": "d"}


def numbers_in(family: "FittedRadial", box: UnitBox) -> UnitBox:
    """Take the box of the inputs that have distances: those that are numbers."""
    return box.of_first(family.to_metric.shape[1])


@dataclass(frozen=True)
class RadialInspection:
    """The answers of fitted radial terms, in the user's units."""

    family: "FittedRadial"

    can_be_shifted: ClassVar[bool] = True

    def metric(self, box: UnitBox, shared: Floats) -> Floats:
        """Find the matrix M (d, d) of r^2 = (x - mu)' M (x - mu)."""
        return metric_matrix(self.family, shared, box.width, numbers_in(self.family, box).varies)

    def numbers(self, box: UnitBox, terms: TermSet) -> RadialNumbers:
        """Write the terms as the numbers of a formula."""
        centers, sharpness = self.family.decode(terms.parameters)
        return RadialNumbers.of(
            self.family, numbers_in(self.family, box).from_unit(centers), sharpness, self.metric(box, terms.shared)
        )

    def attributes(self, box: UnitBox, terms: TermSet) -> dict[str, Floats]:
        """Name what an estimator keeps of its best network."""
        numbers = self.numbers(box, terms)
        found = {"centers_": numbers.centers, "widths_": numbers.widths, "metric_": self.metric(box, terms.shared)}
        if self.family.learns_metric:
            found["relevance_"] = on_all_inputs(terms.shared, numbers_in(self.family, box).varies)
        return found

    def posterior_attributes(self, box: UnitBox, shared: Floats) -> dict[str, Floats]:
        """Name what an estimator keeps of the shared parameters (n, s) of its draws: means, and shares not 0."""
        if not self.family.learns_metric:
            return {}
        return {
            "relevance_": on_all_inputs(shared.mean(axis=0), numbers_in(self.family, box).varies),
            "inclusion_": on_all_inputs((shared > 0).mean(axis=0), numbers_in(self.family, box).varies),
        }

    def uses(self, box: UnitBox, terms: TermSet) -> Bools:
        """Say which inputs (k, d) each term uses: all the same."""
        used = np.diag(self.metric(box, terms.shared)) > 0
        return np.tile(used, (len(terms), 1))

    def strength(self, box: UnitBox, terms: TermSet) -> Floats:
        """Say how strongly the terms depend on each input (d,), for one unit of it; 0 where they do not."""
        return np.sqrt(np.diag(self.metric(box, terms.shared)))

    def places(self, box: UnitBox, terms: TermSet) -> Floats:
        """Say where in the space of inputs the terms are: (k, d)."""
        return numbers_in(self.family, box).from_unit(self.family.decode(terms.parameters)[0])

    def variables(self, box: UnitBox, terms: TermSet, shared: Floats) -> dict[str, tuple[tuple[str, ...], Floats]]:
        """Name the variables of draws, with the names of their last axes: of terms, and shared ones (..., s)."""
        centers, sharpness = self.family.decode(terms.parameters)
        numbers = numbers_in(self.family, box)
        found = {"centers": (("term", "feature"), numbers.from_unit(centers)), "widths": (("term",), 1.0 / sharpness)}
        if self.family.learns_metric:
            relevance = np.zeros((*shared.shape[:-1], len(box.varies)))
            relevance[..., numbers.varies] = shared
            found["relevance"] = (("feature",), relevance)
        return found

    @staticmethod
    def stack(families: Sequence["FittedRadial"], terms: Sequence[TermSet], *, same_shared: bool) -> RadialStack:
        """Stack the terms of networks for an ONNX graph."""
        return RadialStack.of(families, terms, same_relevance=same_shared)

    def use(self, box: UnitBox, terms: TermSet) -> InputUse:
        """Say which inputs (d,) the terms use: those whose relevance is not 0."""
        return self._use(box, (terms.shared > 0).astype(np.float64), terms.shared)

    def use_in_draws(self, box: UnitBox, n_terms: Ints, terms: TermSet, shared: Floats) -> InputUse:
        """Say how probable it is that terms use each input, and the mean of its relevance."""
        return self._use(box, (shared > 0).mean(axis=0), shared.mean(axis=0))

    def _use(self, box: UnitBox, probability: Floats, relevance: Floats) -> InputUse:
        if not self.family.learns_metric:
            metric = self.family.radial.metric
            given = repr(metric) if isinstance(metric, str) else "a matrix"
            return InputUse(
                why_all=f"Every input enters the terms, as metric={given} has it; metric='learned' finds those that "
                f"matter."
            )
        return InputUse(
            probability=on_all_inputs(probability, numbers_in(self.family, box).varies),
            amount=on_all_inputs(relevance, numbers_in(self.family, box).varies),
            name="relevance",
            meaning="Relevance: one over the length scale of the terms along the input, for a term of width 1, in "
            "standard deviations of the input.",
        )
