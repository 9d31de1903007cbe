"""The demonstrations of ``saltus demo``: data with a known truth, a fit, a picture."""

from saltus.demo.robot_arm import PAPER_OPTIONS, PAPER_PRIORS, DataError, generate, read_csv

__all__ = ["PAPER_OPTIONS", "PAPER_PRIORS", "DataError", "generate", "read_csv"]
