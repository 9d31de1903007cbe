"""How soon Ctrl-C ends a fit, and how soon help comes: ``python -m benchmarks.latency``.

Each is tried three times, as the machine may be busy; the least is what counts.
"""

import subprocess
import sys
from time import perf_counter

from tests.scripts import interrupt

TRIES = 3
SECONDS_TO_STOP = 0.5
SECONDS_TO_HELP = 0.3
FITS = (("descent", 1), ("annealed", 1), ("annealed", 2), ("bayesian", 2))


def help_seconds() -> float:
    began = perf_counter()
    subprocess.run([sys.executable, "-m", "saltus", "fit", "--help"], stdout=subprocess.DEVNULL, check=True)
    return perf_counter() - began


def main() -> int:
    found = {
        f"Ctrl-C, {kind}, n_jobs={n_jobs}": (min(interrupt(kind, n_jobs)[0] for _ in range(TRIES)), SECONDS_TO_STOP)
        for kind, n_jobs in FITS
    }
    found["saltus fit --help"] = min(help_seconds() for _ in range(TRIES)), SECONDS_TO_HELP
    for name, (seconds, most) in found.items():
        print(f"{name:<28} {seconds:6.3f} s, at most {most} s: {'yes' if seconds <= most else 'NO'}")
    return int(any(seconds > most for seconds, most in found.values()))


if __name__ == "__main__":
    sys.exit(main())
