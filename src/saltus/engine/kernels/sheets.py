"""Columns of terms, and their derivatives, written out for a sheet of rows: what a matrix product takes from there."""

from saltus._jit import entry_point, source_digest
from saltus._typing import Floats
from saltus._vectors import clear
from saltus.families.registry import (
    Families,
    FamilyWork,
    add_derivatives,
    evaluate_in_descent,
    unpack_terms,
)


def _compile_fill(digest: str):  # type: ignore[no-untyped-def]
    @entry_point
    def fill_sheet(
        families: Families,
        root_weight: Floats,
        x: Floats,
        alpha: Floats,
        work: FamilyWork,
        columns: Floats,
        derivatives: Floats,
    ) -> None:
        """Set the columns (n_tiles, q, L) of terms at a point x, and their derivatives (n_tiles, f, L) if f > 0.

        These are of columns by own parameters, and with coefficients alpha (c, q) of outputs by shared ones.
        """
        sources = digest  # noqa: F841  # a part of the cache's key
        n_tiles, q, _ = columns.shape
        unpack_terms(families, x, work)
        for t in range(n_tiles):
            for j in range(q):
                evaluate_in_descent(families, t, j, root_weight[t], work, columns[t, j])
        if derivatives.shape[1] > 0:
            for t in range(n_tiles):
                for a in range(derivatives.shape[1]):
                    clear(derivatives[t, a])
                add_derivatives(families, t, alpha, root_weight[t], work, derivatives[t])

    return fill_sheet


fill_sheet = _compile_fill(source_digest())
