"""How kernels are compiled: by a child, by plain numba, not at all; and what is said about it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from saltus import _compile
from saltus._compile import COMPILING
from saltus.estimators.progress import Reporter
from tests.commands import QUICK_FIT, run, wing, write_rows
from tests.scripts import needs_posix, run_script

REPOSITORY = Path(__file__).parent.parent

# Tests of kernels that take seconds in plain Python.
OF_KERNELS = (
    "tests/engine/kernels/test_factor.py",
    "tests/engine/kernels/test_edit_algebra.py",
    "tests/engine/kernels/test_moves.py",
    "tests/families/user/test_oracle.py",
)

MODULE = """
from typing import NamedTuple

import numpy as np

from saltus._jit import by_reference, entry_point, glue, kernel, reducing_kernel


@by_reference
class Inner(NamedTuple):
    values: np.ndarray
    is_on: bool


@by_reference
class Outer(NamedTuple):
    scale: float
    inner: Inner
    table: np.ndarray
    absent: None = None


@reducing_kernel
def total(values):
    found = 0.0
    for i in range(values.size):
        found += values[i]
    return found


@glue
def scaled(outer, i):
    return outer.scale * outer.inner.values[i] if outer.inner.is_on else 0.0


@kernel
def fill(outer):
    for i in range(outer.inner.values.size):
        outer.table[0, 1, i] = scaled(outer, i)


@entry_point
def run(outer, n):
    fill(outer)
    return total(outer.table[0, 1]) + n


OUTER = Outer(2.0, Inner(np.arange(3.0), True), np.zeros((1, 2, 3)))
"""

CALL = """
from small import OUTER, run
assert run(OUTER, 1) == 7.0
assert OUTER.table[0, 1].tolist() == [0.0, 2.0, 4.0] and not OUTER.table[0, 0].any()
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "small.py").write_text(MODULE)
    return tmp_path


def run_python(folder, code, **environment):
    """Run code beside the small module, with an empty cache; return what it prints."""
    path = os.pathsep.join([str(folder), str(REPOSITORY / "src")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(folder / "cache"), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_that_something_is_compiled_is_said_once_and_only_then(tmp_path):
    table = write_rows(tmp_path / "wing.csv", wing())
    arguments = ["fit", str(table), "--target", "lift", "--metric", "standardized", *QUICK_FIT, "--force"]
    said = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-m", "saltus", *arguments],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=True,
        )
        said.append(done.stderr.count(COMPILING))
    assert said == [1, 0]


def test_a_fit_in_python_says_so_if_it_is_verbose(capsys):
    with Reporter(1, 1, verbose=True):
        _compile._tell()
        _compile._tell()
    with Reporter(1, 1):
        _compile._tell()
    assert capsys.readouterr().err == f"{COMPILING}\n"


def test_compile_compiles_every_entry_point_and_says_where_it_is(monkeypatch):
    called = set()

    def call(self, *arguments):
        called.add(self._name())
        return self.dispatcher(*arguments)

    monkeypatch.setattr(_compile.EntryPoint, "__call__", call)
    code, out, err = run("compile")
    assert code == 0, err
    assert called == {
        "descend",
        "descend_damped",
        "fill_sheet",
        "run_block",
        "run_block_with_shared_moves",
        "run_sample_block",
        "select",
    }
    assert "Kept in " in out
    assert "start at once." in out


PREPARE = """
from saltus import _compile
_compile.n_processors = lambda: 2
from small import OUTER, run
with _compile.when_compiling(lambda: print("compiles")):
    run.prepare(OUTER, 1)
    print("child" if run._children else "no child")
    assert run(OUTER, 1) == 7.0
print("hits", sum(run.dispatcher.stats.cache_hits.values()), "misses", sum(run.dispatcher.stats.cache_misses.values()))
"""


def test_a_child_compiles_what_will_be_needed_and_only_once(folder):
    assert run_python(folder, PREPARE).split("\n")[:3] == ["compiles", "child", "hits 1 misses 0"]
    assert run_python(folder, PREPARE).split("\n")[:2] == ["no child", "hits 1 misses 0"]


@pytest.mark.parametrize(
    ("trouble", "has_child"),
    [
        ("import sys; sys.executable = '/nowhere/python'", False),
        ("import sys; sys.executable = '/usr/bin/editor'", False),
        ("import os; os.environ['SALTUS_COMPILES_FOR_ANOTHER'] = '1'", False),
        ("import multiprocessing; multiprocessing.current_process().name = 'LokyProcess-1'", False),
        ("from saltus import _compile; _compile.PROGRAM = 'raise SystemExit(1)'", True),
        ("from saltus import _compile; _compile.LONGEST_WAIT = 0.0", True),
    ],
    ids=["not there", "not Python", "is a child", "is a worker", "fails", "is slow"],
)
def test_where_there_is_no_child_or_it_fails_the_caller_compiles(folder, trouble, has_child):
    out = run_python(folder, f"{trouble}\n{PREPARE}")
    assert out.split("\n")[:3].count("compiles") == 1
    assert ("no child" not in out) == has_child
    assert "hits 0 misses 1" in out


BROKEN = {
    "a class is gone": "import numba.core.codegen as c; del c.JITCodeLibrary",
    "a method is gone": (
        "from numba.core.codegen import CPUCodeLibrary as library\n"
        "was = library._finalize_dynamic_globals\n"
        "del library._finalize_dynamic_globals\n"
        "library.__getattr__ = lambda self, name: was.__get__(self)"  # numba itself has it still
    ),
    "a signature is another": (
        "from numba.core.compiler import Compiler\n"
        "was = Compiler.compile_extra\n"
        "Compiler.compile_extra = lambda self, func, more=None: was(self, func)"
    ),
    "an option is gone": (
        "from numba.core.cpu import CPUTargetOptions\n"
        "[delattr(owner, '_nrt') for owner in CPUTargetOptions.__mro__ if '_nrt' in vars(owner)]"
    ),
    "nothing can be extended": "import numba.extending as e; del e.lower_getattr_generic",
}


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN)
def test_kernels_are_compiled_plainly_where_numba_is_not_as_expected(folder, change):
    out = run_python(folder, f"import numba\n{change}\nfrom saltus import _jit\nprint(_jit.IS_PLAIN)\n{CALL}")
    assert out == "True\n"


def test_what_compiles_is_not_heard_of_where_numba_does_not_tell(folder):
    gone = "import numba, sys\nsys.modules['numba.core.event'] = None"
    hear = "from saltus._compile import when_compiling\nwith when_compiling(lambda: print('heard')):\n    pass"
    assert run_python(folder, f"{gone}\n{hear}\n{CALL}") == ""


def test_kernels_are_not_compiled_plainly_with_this_numba(folder):
    assert run_python(folder, f"from saltus import _jit\nprint(_jit.IS_PLAIN)\n{CALL}") == "False\n"


def test_kernels_run_as_python_with_the_jit_off(folder):
    run_python(folder, CALL, NUMBA_DISABLE_JIT="1")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *OF_KERNELS],
        cwd=REPOSITORY,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


FAMILIES = """
from typing import NamedTuple

import numba.core.event
import numpy as np

from saltus._jit import by_reference, entry_point, kernel


@by_reference
class Terms(NamedTuple):
    one: object
    other: object


@kernel
def add_one(one, column):
    column[0] += one[0]


@kernel
def add_other(other, column):
    column[0] += 2 * other[0]


@kernel
def add(one, other, column):
    if one is not None:
        add_one(one, column)
    if other is not None:
        add_other(other, column)


@entry_point
def run(terms, column):
    add(terms.one, terms.other, column)
    return column[0]
"""

USE = """
import numba.core.event
import numpy as np
from families import Terms, run
with numba.core.event.install_recorder("numba:compile") as recorder:
    for terms in (Terms(np.ones(1), None), Terms(np.ones(1), np.ones(1))):
        print(run(terms, np.zeros(1)))
print(*(event.data["dispatcher"].__name__ for _, event in recorder.buffer if event.is_start))
"""


def test_a_family_that_is_not_in_use_is_not_compiled(tmp_path):
    (tmp_path / "families.py").write_text(FAMILIES)
    assert run_python(tmp_path, USE) == "1.0\n3.0\nrun add add_one run add add_other\n"
    assert run_python(tmp_path, USE) == "1.0\n3.0\n\n"  # both from disk


INTERRUPTED_WHILE_COMPILING = """
import os
import numpy as np
from saltus import AnnealedRegressor, _compile
X = np.random.default_rng(0).random((40, 2))
with _compile.when_compiling(lambda: print("compiling", flush=True)):
    try:
        AnnealedRegressor("gaussian", n_iter=100, random_state=0).fit(X, X[:, 0] ** 2)
    except KeyboardInterrupt as interrupt:
        print(interrupt, "Still compiling:", _compile.is_compiling(), flush=True)
        os._exit(0)
"""


@needs_posix
def test_ctrl_c_while_compiling_is_heard_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    with run_script(INTERRUPTED_WHILE_COMPILING) as process:
        assert process.stdout.readline() == "compiling\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert out == "There is no model yet: this fit was still being compiled. Still compiling: True\n", err


@needs_posix
def test_a_command_ends_though_something_is_being_compiled(tmp_path):
    table = write_rows(tmp_path / "wing.csv", wing())
    arguments = ["fit", str(table), "--target", "lift", "--metric", "standardized", *QUICK_FIT]
    with subprocess.Popen(
        [sys.executable, "-m", "saltus", *arguments],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        while COMPILING not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "saltus: interrupted. There is no model yet" in err
    assert not list(tmp_path.glob("cache/**/*run_block*.nbc")), "it waited for the compilation"


def test_an_error_while_compiling_reaches_the_caller(folder):
    code = """
from saltus._jit import entry_point
@entry_point
def wrong(x):
    return x + "text"
try:
    wrong(1.0)
except Exception as error:
    print(type(error).__name__)
"""
    (folder / "wrong.py").write_text(code)
    assert run_python(folder, "import wrong") == "TypingError\n"
