"""Where a chain of a posterior halts: to be drawn from, or to have its factor built anew."""

from saltus.engine.drivers.blocks import ITERATIONS_BETWEEN_REBUILDS


def is_rebuilt_at(iteration: int, n_total: int) -> bool:
    """Say whether the factor is built anew after so many iterations."""
    return 0 < iteration < n_total and iteration % ITERATIONS_BETWEEN_REBUILDS == 0


def is_drawn_at(iteration: int, n_warmup: int, between: int) -> bool:
    """Say whether a chain may be drawn from there: so many iterations apart, counted anew where the warm-up ends."""
    return iteration > 0 and (iteration - n_warmup if iteration >= n_warmup else iteration) % between == 0


def next_stop(done: int, n_warmup: int, between: int, n_total: int) -> int | None:
    """Find where a chain may be drawn from next, or has its factor built anew; None at the end. O(1)."""
    origin = n_warmup if done >= n_warmup else 0
    halt = origin + between * ((done - origin) // between + 1)
    if done < n_warmup:
        halt = min(halt, n_warmup)
    rebuild = ITERATIONS_BETWEEN_REBUILDS * (done // ITERATIONS_BETWEEN_REBUILDS + 1)
    return min([halt] * (halt <= n_total) + [rebuild] * (rebuild < n_total), default=None)
