"""How many chains a fit has where that is left to us."""

import numpy as np

from saltus.engine.problem.design import Design

# By default all chains together see about as many rows. On the tasks of benchmarks/compare with no more than 200 rows,
# seeds 20-27, 8 chains have .974 of the error of 4 (0.7 CPU s against 0.34); with 80 rows, .987 (0.31 against 0.15).
ROWS_OF_ALL_CHAINS = 2000
FEWEST_CHAINS, MOST_CHAINS = 4, 8
# Networks that were grown from nothing differ more, and their average is the better for it. Posterior means on the
# noisy tasks, seeds 22 and 23, over a Gaussian process's error: .72 with 4 chains of 200 000 iterations, .75 with 4 of
# 40 000, .70 with 6 or 8 of 20 000. Up to so many rows there are so many chains, then the fewest.
CHAINS_OF_GROWN_NETWORKS = ((400, 8), (3_000, 6))


def count_chains(design: Design) -> int:
    """Say how many chains there are, more where rows are few and chains are quick."""
    n_total = design.problem.n_total
    if design.mixture.chooses_inputs:
        return next((n for most_rows, n in CHAINS_OF_GROWN_NETWORKS if n_total <= most_rows), FEWEST_CHAINS)
    return int(np.clip(np.ceil(ROWS_OF_ALL_CHAINS / n_total), FEWEST_CHAINS, MOST_CHAINS))
