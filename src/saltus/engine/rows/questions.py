"""What a descent and a growing network ask of all rows about terms: a triangle, slopes, curvature, and scores.

D is the design [linear term, columns of the terms], J its derivatives by the continuous parameters of the terms, e the
residuals y - D alpha, all times the roots of the weights.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr

from saltus._typing import Floats
from saltus.engine.rows.frame import Frame, Sheet
from saltus.engine.rows.rows import Block
from saltus.families.terms import TermSet


@dataclass(frozen=True)
class Triangle:
    """R of a QR factorisation of [D, y], (m + c, m + c). D'D is never formed."""

    frame: Frame
    terms: TermSet

    def ask(self, block: Block) -> Floats:
        """Answer for one block. O(n m^2)."""
        m_fixed, c = self.frame.m_fixed, self.frame.n_outputs
        q = int(self.frame.mixture.n_columns[self.terms.family].sum())
        size = m_fixed + q + c
        R = np.zeros((size, size))
        for sheet in self.frame.sheets(block, 2 * size):
            columns, _ = self.frame.columns(sheet, self.terms)
            stacked = np.empty((size, size + columns.shape[1]))
            stacked[:, :size] = R.T
            stacked[:m_fixed, size:], stacked[m_fixed : m_fixed + q, size:] = sheet.fixed, columns
            stacked[m_fixed + q :, size:] = sheet.Y
            R = triangle_of(stacked.T)
        return R

    def merge(self, first: Floats, second: Floats) -> Floats:
        """Factor two triangles together. O(m^3)."""
        return triangle_of(np.vstack([first, second]))


def triangle_of(stacked: Floats) -> Floats:
    """Find R of an array (rows, columns), which is overwritten where it is in Fortran order."""
    (R,) = qr(stacked, mode="r", overwrite_a=True, check_finite=False)
    found: Floats = R[: stacked.shape[1]].copy()
    return found


@dataclass(frozen=True)
class Slopes:
    """J'e, (c, f), at coefficients alpha (m, c)."""

    frame: Frame
    terms: TermSet
    alpha: Floats

    def ask(self, block: Block) -> Floats:
        """Answer for one block. O(n f)."""
        found: Floats | float = 0.0
        for sheet in self.frame.sheets(block, 5 * self.alpha.size):
            columns, derivatives = self.frame.columns(sheet, self.terms, self.alpha[self.frame.m_fixed :].T)
            found = found + residuals(sheet, columns, self.alpha) @ derivatives.T
        return np.asarray(found)

    def merge(self, first: Floats, second: Floats) -> Floats:
        """Add."""
        return first + second


def residuals(sheet: Sheet, columns: Floats, alpha: Floats) -> Floats:
    """Find y - D alpha, (c, n)."""
    m_fixed = len(sheet.fixed)
    found: Floats = sheet.Y - alpha[:m_fixed].T @ sheet.fixed - alpha[m_fixed:].T @ columns
    return found


class Products(NamedTuple):
    """Products of further columns P with the design, the residuals and each other, over all rows."""

    design: Floats  # (m, p), D'P
    residuals: Floats  # (c, p), e'P
    gram: Floats  # (p, p), P'P

    def plus(self, other: "Products") -> "Products":
        """Add those of other rows."""
        return Products(*(mine + others for mine, others in zip(self, other, strict=True)))


class Sum:
    """A question whose answers are added: products of further columns, sheet by sheet."""

    def further(self, sheet: Sheet) -> Products:
        """Multiply the columns of one sheet."""
        raise NotImplementedError

    def sheets(self, block: Block) -> Iterator[Sheet]:
        """Cut a block into sheets."""
        raise NotImplementedError

    def ask(self, block: Block) -> Products:
        """Answer for one block. O(n p (p + m)) for p columns."""
        return reduce(Products.plus, map(self.further, self.sheets(block)))

    def merge(self, first: Products, second: Products) -> Products:
        """Add."""
        return first.plus(second)


@dataclass(frozen=True)
class Curvature(Sum):
    """Products of J with the design, the residuals and itself, at coefficients alpha (m, c)."""

    frame: Frame
    terms: TermSet
    alpha: Floats

    def sheets(self, block: Block) -> Iterator[Sheet]:
        """Cut a block into sheets."""
        return self.frame.sheets(block, 5 * self.alpha.size)

    def further(self, sheet: Sheet) -> Products:
        """Multiply the derivatives of the terms."""
        columns, derivatives = self.frame.columns(sheet, self.terms, self.alpha[self.frame.m_fixed :].T)
        return multiply(sheet, columns, self.alpha, derivatives)


@dataclass(frozen=True)
class Scores(Sum):
    """Products of the columns of candidates with the design at coefficients alpha (m, c), the residuals, each other."""

    frame: Frame
    terms: TermSet
    alpha: Floats
    candidates: TermSet

    def sheets(self, block: Block) -> Iterator[Sheet]:
        """Cut a block into sheets."""
        return self.frame.sheets(block, 2 * (self.alpha.size + len(self.candidates)))

    def further(self, sheet: Sheet) -> Products:
        """Multiply the columns of the candidates."""
        columns, _ = self.frame.columns(sheet, self.terms)
        return multiply(sheet, columns, self.alpha, self.frame.columns(sheet, self.candidates)[0])


def multiply(sheet: Sheet, columns: Floats, alpha: Floats, further: Floats) -> Products:
    """Multiply further columns (p, n) with the design of a sheet, the residuals and each other."""
    design = np.vstack([sheet.fixed @ further.T, columns @ further.T])
    return Products(design, residuals(sheet, columns, alpha) @ further.T, further @ further.T)
