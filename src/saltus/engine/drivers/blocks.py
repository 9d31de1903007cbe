"""Blocks: iterations that a kernel runs without asking whether to stop."""

# The factor is built anew from its columns at multiples of this many iterations, so that rounding cannot
# build up. A multiple of the iteration, not of the block: a chain is the same however its blocks fall.
ITERATIONS_BETWEEN_REBUILDS = 10_000


def next_length(n_done: int, seconds: float, block_seconds: float) -> int:
    """Choose the length of the next block, growing slowly: the first call may include compilation."""
    wanted = int(n_done * block_seconds / max(seconds, 1e-9))
    return min(max(wanted, 1), 4 * n_done)
