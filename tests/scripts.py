"""Fits in a process of their own, which can be interrupted, killed, or kept from writing."""

import ctypes
import os
import signal
import stat
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

needs_posix = pytest.mark.skipif(os.name == "nt", reason="these signals do not exist on Windows")


@contextmanager
def run_script(script, *arguments):
    """Run a script that hears Ctrl-C even if this process was told not to; leave nothing behind."""
    process = subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


DROP_FROM_BOUNDING_SET, OVERRIDE_PERMISSIONS = 24, 1


def obey_permissions():
    """Let the program that comes next obey the permissions of files, even if root runs it."""
    if os.geteuid() == 0 and ctypes.CDLL(None).prctl(DROP_FROM_BOUNDING_SET, OVERRIDE_PERMISSIONS, 0, 0, 0) != 0:
        raise PermissionError("root cannot be made to obey")


def make_read_only(folder):
    """Let nobody write to a folder and what is in it, as in an installation by somebody else."""
    for place in (folder, *folder.rglob("*")):
        place.chmod(place.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))


# A fit that prints a line once its chains are at work, and its status when it was interrupted.
INTERRUPTED = """
import sys, threading, time, warnings
import numpy as np
from saltus import AnnealedRegressor, BayesianRegressor
from saltus.engine.search import pruning
kind, n_jobs = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
N = 10_000 if kind in ("descent", "annealed") and n_jobs == 1 else 300
X = rng.random((N, 2))
y = np.sin(9 * X[:, 0]) * np.cos(7 * X[:, 1]) + 0.1 * rng.standard_normal(N)
if kind == "bayesian":
    warnings.simplefilter("ignore")
    BayesianRegressor("gaussian", n_iter=10, n_warmup=10, n_draws=5).fit(X, y)
    warnings.simplefilter("default")
    model = BayesianRegressor("gaussian", n_iter=10**8, n_warmup=1000, n_draws=10**6, n_jobs=n_jobs)
else:
    AnnealedRegressor("gaussian", n_iter=10).fit(X[:300], y[:300])
    model = AnnealedRegressor("gaussian", patience=10**9, n_jobs=n_jobs)
begun = set()

def begin(number):
    begun.add(number)
    if len(begun) == n_jobs:
        print("fitting", flush=True)

def say(progress):
    if kind != "descent" and progress.iteration > 1500 and progress.chain not in begun:
        begin(progress.chain)

def descend_and_say(*arguments, **options):
    begin("descent") if not begun else None
    return descend(*arguments, **options)

if kind == "descent":
    descend, pruning.descend = pruning.descend, descend_and_say
model.fit(X, y, callback=say)
ended = time.time()
for thread in threading.enumerate():
    if thread is not threading.current_thread():
        thread.join()  # the chains of other threads end too
assert np.isfinite(model.predict(X)).all()
print(ended)
print(model.status_ if kind == "bayesian" else model.result_.status, flush=True)
"""


def interrupt(kind, n_jobs):
    """Press Ctrl-C in a fit; return how many seconds it took to return, its status, and what it warned of."""
    with run_script(INTERRUPTED, kind, str(n_jobs)) as process:
        assert process.stdout.readline() == "fitting\n"
        if kind != "descent":
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(timeout=0.5)
        sent = time.time()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    ended, status = out.splitlines()
    return float(ended) - sent, status, err
