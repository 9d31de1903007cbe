"""The truths: functions of inputs in the unit cube or in their own units, each with where it was published."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from saltus._typing import Floats

Function = Callable[[Floats], Floats]

# Donoho and Johnstone, Biometrika 81 (1994), table 1: where Blocks and Bumps happen, how high, how wide.
KNOTS = np.array([0.1, 0.13, 0.15, 0.23, 0.25, 0.40, 0.44, 0.65, 0.76, 0.78, 0.81])
BLOCK_HEIGHTS = np.array([4.0, -5.0, 3.0, -4.0, 5.0, -4.2, 2.1, 4.3, -3.1, 2.1, -4.2])
BUMP_HEIGHTS = np.array([4.0, 5.0, 3.0, 4.0, 5.0, 4.2, 2.1, 4.3, 3.1, 5.1, 4.2])
BUMP_WIDTHS = np.array([0.005, 0.005, 0.006, 0.01, 0.01, 0.03, 0.01, 0.01, 0.005, 0.008, 0.005])


@dataclass(frozen=True)
class Truth:
    """A function and the box in which its inputs are uniform."""

    function: Function
    low: tuple[float, ...]
    high: tuple[float, ...]

    @property
    def n_inputs(self) -> int:
        """How many inputs it has, those that do nothing included."""
        return len(self.low)

    def scale(self, U: Floats) -> Floats:
        """Take rows of the unit cube to the box."""
        low, high = np.array(self.low), np.array(self.high)
        return low + U * (high - low)


def doppler(X: Floats) -> Floats:
    """Donoho and Johnstone's Doppler on [0, 1]."""
    x = X[:, 0]
    return np.sqrt(x * (1.0 - x)) * np.sin(2.0 * np.pi * 1.05 / (x + 0.05))


def heavisine(X: Floats) -> Floats:
    """Donoho and Johnstone's HeaviSine on [0, 1]: a sine with two jumps."""
    x = X[:, 0]
    return 4.0 * np.sin(4.0 * np.pi * x) - np.sign(x - 0.3) - np.sign(0.72 - x)


def bumps(X: Floats) -> Floats:
    """Donoho and Johnstone's Bumps on [0, 1]: eleven peaks."""
    return (1.0 + np.abs((X - KNOTS) / BUMP_WIDTHS)) ** -4.0 @ BUMP_HEIGHTS


def blocks(X: Floats) -> Floats:
    """Donoho and Johnstone's Blocks on [0, 1]: eleven jumps."""
    return 0.5 * (1.0 + np.sign(X - KNOTS)) @ BLOCK_HEIGHTS


def sinc(X: Floats) -> Floats:
    """Evaluate sin(x) / x, the relevance vector machine's example (Tipping, JMLR 1, 2001)."""
    return np.sinc(X[:, 0] / np.pi)


def ridge_surface(X: Floats) -> Floats:
    """Evaluate a wavy slope with a ridge along the diagonal x1 = x2, which no input sees alone."""
    x1, x2 = X.T
    return x1 + 0.5 * np.sin(3.0 * x2) + 1.5 * np.exp(-0.5 * ((x1 - x2) / 0.15) ** 2)


def additive(X: Floats) -> Floats:
    """Friedman's additive function of 5 of 10 inputs (Annals of Statistics 19, 1991, eq. 61)."""
    x1, x2, x3, x4, x5 = X[:, :5].T
    return 0.1 * np.exp(4.0 * x1) + 4.0 / (1.0 + np.exp(-20.0 * (x2 - 0.5))) + 3.0 * x3 + 2.0 * x4 + x5


def friedman1(X: Floats) -> Floats:
    """Friedman's function of 5 of 10 inputs (1991; Breiman's Friedman 1)."""
    x1, x2, x3, x4, x5 = X[:, :5].T
    return 10.0 * np.sin(np.pi * x1 * x2) + 20.0 * (x3 - 0.5) ** 2 + 10.0 * x4 + 5.0 * x5


def friedman2(X: Floats) -> Floats:
    """Impedance of a circuit (Breiman's Friedman 2)."""
    x1, x2, x3, x4 = X.T
    return np.sqrt(x1**2 + (x2 * x3 - 1.0 / (x2 * x4)) ** 2)


def friedman3(X: Floats) -> Floats:
    """Phase of a circuit (Breiman's Friedman 3)."""
    x1, x2, x3, x4 = X.T
    return np.arctan2(x2 * x3 - 1.0 / (x2 * x4), x1)


def borehole(X: Floats) -> Floats:
    """Flow of water through a borehole, m^3 a year (Harper and Gupta, 1983)."""
    r_w, r, T_u, H_u, T_l, H_l, L, K_w = X.T
    log_ratio = np.log(r / r_w)
    return 2.0 * np.pi * T_u * (H_u - H_l) / (log_ratio * (1.0 + T_u / T_l) + 2.0 * L * T_u / (r_w**2 * K_w))


def piston(X: Floats) -> Floats:
    """Cycle time of a piston, seconds (Kenett and Zacks, 1998)."""
    M, S, V_0, k, P_0, T_a, T_0 = X.T
    A = P_0 * S + 19.62 * M - k * V_0 / S
    work = P_0 * V_0 / T_0 * T_a
    V = S / (2.0 * k) * (np.sqrt(A**2 + 4.0 * k * work) - A)
    return 2.0 * np.pi * np.sqrt(M / (k + S**2 * work / V**2))


def otl_circuit(X: Floats) -> Floats:
    """Midpoint voltage of an output transformerless push-pull circuit (Ben-Ari and Steinberg, 2007)."""
    R_b1, R_b2, R_f, R_c1, R_c2, beta = X.T
    V_b1 = 12.0 * R_b2 / (R_b1 + R_b2)
    gain = beta * (R_c2 + 9.0)
    return ((V_b1 + 0.74) * gain + 11.35 * R_f + 0.74 * R_f * gain / R_c1) / (gain + R_f)


UNIT = {d: ((0.0,) * d, (1.0,) * d) for d in (1, 10)}
CIRCUIT = ((0.0, 40.0 * np.pi, 0.0, 1.0), (100.0, 560.0 * np.pi, 1.0, 11.0))

TRUTHS = {
    "sinc": Truth(sinc, (-10.0,), (10.0,)),
    "Doppler": Truth(doppler, *UNIT[1]),
    "HeaviSine": Truth(heavisine, *UNIT[1]),
    "Bumps": Truth(bumps, *UNIT[1]),
    "Blocks": Truth(blocks, *UNIT[1]),
    "ridge surface": Truth(ridge_surface, (-1.0, -1.0), (1.0, 1.0)),
    "additive": Truth(additive, *UNIT[10]),
    "Friedman 1": Truth(friedman1, *UNIT[10]),
    "Friedman 2": Truth(friedman2, *CIRCUIT),
    "Friedman 3": Truth(friedman3, *CIRCUIT),
    "borehole": Truth(
        borehole,
        (0.05, 100.0, 63070.0, 990.0, 63.1, 700.0, 1120.0, 9855.0),
        (0.15, 50000.0, 115600.0, 1110.0, 116.0, 820.0, 1680.0, 12045.0),
    ),
    "piston": Truth(
        piston,
        (30.0, 0.005, 0.002, 1000.0, 90000.0, 290.0, 340.0),
        (60.0, 0.020, 0.010, 5000.0, 110000.0, 296.0, 360.0),
    ),
    "OTL circuit": Truth(otl_circuit, (50.0, 25.0, 0.5, 1.2, 0.25, 50.0), (150.0, 70.0, 3.0, 2.5, 1.2, 300.0)),
}
