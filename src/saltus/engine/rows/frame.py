"""How rows as they are read become what terms see, the same for every block: scaled, weighted, in sheets."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from saltus._tiles import TILE, tile_shape, to_tiles
from saltus._typing import Floats, Ints
from saltus.engine.kernels.sheets import fill_sheet
from saltus.engine.problem.design import Design
from saltus.engine.problem.scaling import Box, OutputScale, from_mean
from saltus.engine.rows.rows import Block
from saltus.families import FittedMixture
from saltus.families.free import FreeParameters
from saltus.families.registry import Families, make_family_work
from saltus.families.terms import TermSet

# A sheet has so many numbers at most, but a tile of rows at least.
NUMBERS_A_SHEET = 1_000_000


class Sheet(NamedTuple):
    """Some rows of a block, as terms see them; padded with rows of weight 0."""

    families: Families
    root_weight: Floats  # (n_tiles, L)
    fixed: Floats  # (m_fixed, n), the columns of the linear term, times the roots of the weights
    Y: Floats  # (c, n), scaled, times the roots of the weights


@dataclass(frozen=True)
class Frame:
    """Where the unit cube, the linear term and the units of the outputs are. A value, which travels with questions."""

    box: Box
    mixture: FittedMixture
    outputs: OutputScale
    means: Floats  # (v,), of the inputs in the unit cube
    spreads: Floats  # (v,)
    kept: Ints  # the inputs of the linear term

    @classmethod
    def of(cls, design: Design) -> Self:
        """Take that of a design, which may be of a part of the rows."""
        linear = design.linear
        return cls(design.box, design.mixture, design.outputs, linear.means, linear.spreads, linear.kept)

    @property
    def m_fixed(self) -> int:
        """The columns of the linear term."""
        return 1 + len(self.kept)

    @property
    def n_outputs(self) -> int:
        """C."""
        return len(self.outputs.scale)

    def sheets(self, block: Block, n_columns: int) -> Iterator[Sheet]:
        """Cut a block into sheets that are filled with so many columns."""
        n_rows = max(NUMBERS_A_SHEET // max(n_columns, 1) // TILE, 1) * TILE
        for first in range(0, len(block.X), n_rows):
            yield self.sheet(Block(*(array[first : first + n_rows] for array in block)))

    def sheet(self, rows: Block) -> Sheet:
        """Scale rows and weigh them."""
        U, root_weight = self.box.to_unit(rows.X), np.sqrt(rows.weight)
        n = np.prod(tile_shape(len(U)))
        fixed, Y = np.zeros((self.m_fixed, n)), np.zeros((self.n_outputs, n))
        fixed[0, : len(U)] = root_weight
        if len(self.kept):
            away = from_mean(U, self.means)[:, self.kept] / self.spreads[self.kept]
            fixed[1:, : len(U)] = (away * root_weight[:, None]).T
        Y[:, : len(U)] = ((rows.Y - self.outputs.mean) / self.outputs.scale * root_weight[:, None]).T
        families = self.mixture.families(U, ridge=False, draws_terms=False)
        return Sheet(families, to_tiles(root_weight[:, None])[:, 0], fixed, Y)

    def free(self, families: Families, terms: TermSet) -> FreeParameters:
        """Find what a descent changes of terms: the same whatever the rows."""
        return self.mixture.search.free(families, terms)

    def columns(self, sheet: Sheet, terms: TermSet, alpha: Floats | None = None) -> tuple[Floats, Floats]:
        """Evaluate the columns (q, n) of terms and, given coefficients (c, q), their derivatives (f, n)."""
        free = self.free(sheet.families, terms)
        n_tiles, length = sheet.root_weight.shape
        work = make_family_work(free.families, free.terms, free.decoded, free.n_free)
        q = len(free.decoded)
        f = 0 if alpha is None else int(work.n_free.sum()) + self.n_outputs * free.n_shared
        columns, derivatives = np.empty((n_tiles, q, length)), np.empty((n_tiles, f, length))
        if alpha is None:
            alpha = np.zeros((self.n_outputs, q))
        fill_sheet(free.families, sheet.root_weight, free.x, alpha, work, columns, derivatives)
        return _in_rows(columns), _in_rows(derivatives)


def _in_rows(tiles: Floats) -> Floats:
    """Arrange tiles (n_tiles, columns, L) as (columns, rows)."""
    n_tiles, n_columns, length = tiles.shape
    return np.ascontiguousarray(tiles.transpose(1, 0, 2)).reshape(n_columns, n_tiles * length)
