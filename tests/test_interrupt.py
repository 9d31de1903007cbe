"""Ctrl-C, as a real signal to a real process."""

import os
import signal
import subprocess
import sys

import pytest

SCRIPT = """
import sys, threading
import numpy as np
from saltus import AnnealedRegressor
rng = np.random.default_rng(0)
X, y = rng.random((300, 2)), rng.random(300)
AnnealedRegressor(n_iter=10).fit(X, y)
print("fitting", flush=True)
try:
    AnnealedRegressor(n_iter=10**9, n_jobs=int(sys.argv[1])).fit(X, y)
except KeyboardInterrupt:
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join()  # the chains of other threads end too
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="SIGINT cannot be sent to one process on Windows")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_a_long_fit(n_jobs):
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(n_jobs)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "fitting\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=1)
        process.send_signal(signal.SIGINT)
        # Blocks of 30 ms end it at once; the limit is for a machine that is busy with something else.
        out, err = process.communicate(timeout=30)
    assert out == "interrupted\n", err
