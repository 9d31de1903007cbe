"""Where compiled code is kept, where nothing can be, and what is done about code that cannot be read."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import saltus
from saltus import AnnealedRegressor
from tests.scripts import make_read_only, needs_posix, obey_permissions

PACKAGE = Path(saltus.__file__).parent

pytestmark = needs_posix

MODULE = """
import numpy as np
from saltus._jit import entry_point

@entry_point
def run(values, n):
    return values[0] + n

RUN = np.ones(1), 1
"""

# Calls the entry point; says whether the code was on disk, and where it is kept.
CALL = """
from small import RUN, run
assert run(*RUN) == 2.0
stats = run.dispatcher.stats
print("hits", sum(stats.cache_hits.values()), "misses", sum(stats.cache_misses.values()), run.folder)
"""


@pytest.fixture
def home(tmp_path):
    """A home that cannot be written to."""
    (tmp_path / "home").mkdir()
    make_read_only(tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
def small(tmp_path):
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "small.py").write_text(MODULE)
    yield tmp_path / "small"
    for place in (tmp_path / "small", *(tmp_path / "small").rglob("*")):
        place.chmod(0o755)


def run_python(folder, home, *arguments, **environment):
    """Run Python with the modules of a folder, obeying permissions; return what it prints and says."""
    environment = {
        **{name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")},
        "PYTHONPATH": os.pathsep.join([str(folder), str(PACKAGE.parent)]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(home),
        **environment,
    }
    done = subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=obey_permissions,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


LOAD = """
import sys
import numba.core.event
import numpy as np
with numba.core.event.install_recorder("numba:compile") as recorder:
    import saltus
    assert saltus.__file__.startswith(sys.argv[1]), saltus.__file__
    from saltus import AnnealedRegressor, BayesianRegressor
    for path in sys.argv[2:]:
        model = saltus.load(path)
        print(model.predict(np.linspace(-1, 1, 20).reshape(10, 2)).sum())
        if isinstance(model, BayesianRegressor):
            model.predict_interval(np.zeros((2, 2)))
            model.sample_y(np.zeros((2, 2)), 3, random_state=0)
        assert len(model.summary()) > 100
assert not recorder.buffer
"""


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_model_predicts_where_nothing_can_be_written_and_nothing_is_compiled(bumps, home, tmp_path):
    X, Y = bumps
    options = {"n_iter": 200, "n_chains": 1, "random_state": 0}
    models = [
        AnnealedRegressor("gaussian", **options).fit(X, Y[:, 0]),
        AnnealedRegressor(**options).fit(X, Y),
        saltus.BayesianRegressor("gaussian", n_draws=10, **options).fit(X, Y[:, 0]),
    ]
    paths = [tmp_path / f"{number}.saltus" for number in range(len(models))]
    for model, path in zip(models, paths, strict=True):
        model.save(path)
    copy = tmp_path / "installed" / "saltus"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    make_read_only(copy)
    nowhere = {"TMPDIR": str(home)}  # no temporary folder either
    out, err = run_python(copy.parent, home, "-c", LOAD, str(copy), *map(str, paths), **nowhere)
    new = np.linspace(-1, 1, 20).reshape(10, 2)
    assert [float(line) for line in out.split()] == [model.predict(new).sum() for model in models]
    assert err == ""
    out, err = run_python(copy.parent, home, "-m", "saltus", "inspect", str(paths[0]), **nowhere)
    assert "AnnealedRegressor" in out
    assert err == ""


def test_code_that_cannot_be_kept_is_kept_for_the_process_which_says_so_once(small, home):
    make_read_only(small)
    out, err = run_python(small, home, "-c", f"{CALL}assert run(1 + RUN[0][:1].astype(int), 1) == 3\n{CALL}")
    folder = Path(out.split()[-1])
    assert out.startswith("hits 0 misses 1 ")
    assert not folder.exists()
    assert not folder.parent.exists()
    assert err.count("compiled code") + err.count("Compiled code") == 1
    assert f"kept in {folder.parent} until this process ends" in err
    assert "Set NUMBA_CACHE_DIR to a folder that can be written to" in err


PREPARE = """
import os
from saltus import _compile
_compile.n_processors = lambda: 2
from small import RUN, run
run.prepare(*RUN)
print("child" if run._children else "no child", oct(os.stat(os.path.dirname(run.folder)).st_mode & 0o777))
"""


def test_a_child_keeps_code_in_the_temporary_folder_of_its_parent_which_is_nobody_elses(small, home):
    make_read_only(small)
    out, _ = run_python(small, home, "-c", PREPARE + CALL)
    assert out.startswith("child 0o700\nhits 1 misses 0 ")


def test_without_any_folder_code_is_compiled_and_it_is_said_once(small, home):
    make_read_only(small)
    out, err = run_python(small, home, "-c", CALL + CALL, TMPDIR=str(home))
    assert out.startswith("hits 0 misses 1 ")
    assert err.count("ompiled code") == 1
    assert "Set NUMBA_CACHE_DIR" in err


@pytest.mark.parametrize("where", ["beside", "given"])
def test_code_that_somebody_else_has_kept_is_used_though_it_can_only_be_read(small, home, where, tmp_path):
    given = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")} if where == "given" else {}
    assert "misses 1" in run_python(small, home, "-c", CALL, **given)[0]
    make_read_only(tmp_path / "cache" if where == "given" else small)
    make_read_only(small)
    out, err = run_python(small, home, "-c", PREPARE.replace("os.path.dirname(run.folder)", "'/'") + CALL, **given)
    assert out.startswith("no child")
    assert "hits 1 misses 0" in out
    assert err == ""
    for place in (tmp_path / "cache").rglob("*"):
        place.chmod(0o755)


def test_no_folder_is_made_where_the_program_stands(small, tmp_path):
    """Of a user without a home, numba would take ~ for the name of a folder."""
    make_read_only(small)
    code = "import os.path\nos.path.expanduser = lambda path: path\n" + CALL
    out, _ = run_python(small, tmp_path, "-c", code)
    assert "hits 0 misses 1" in out
    assert not (tmp_path / "~").exists()


@pytest.mark.parametrize(("kind", "length"), [("nbi", 40), ("nbc", 0), ("nbc", -1)])
def test_code_that_is_cut_short_is_compiled_again(small, home, kind, length):
    assert "misses 1" in run_python(small, home, "-c", CALL)[0]
    (file,) = small.rglob(f"*.{kind}")
    whole = file.read_bytes()
    file.write_bytes(whole[:length])
    out, err = run_python(small, home, "-c", CALL)
    assert "hits 0 misses 1" in out
    assert err == ""


def test_a_disk_that_is_full_is_said_and_ends_no_fit(small, home):
    full = "import numba.core.caching as c\ndef fail(*a): raise OSError(28, 'No space left on device')\n"
    full += "c.IndexDataCacheFile._save_data = fail\n"
    out, err = run_python(small, home, "-c", full + CALL)
    assert "hits 0 misses 1" in out
    assert "could not be kept on disk ([Errno 28] No space left on device)" in err


def test_saltus_compile_fails_where_nothing_is_kept(small, home, monkeypatch):
    from saltus import _compile
    from tests.commands import run

    monkeypatch.setattr(_compile.EntryPoint, "is_kept", False)
    monkeypatch.setattr("saltus.cli.compile._fit_all_sorts", lambda: None)
    code, out, err = run("compile")
    assert code == 2
    assert out == ""
    assert "Nothing of what was compiled is kept" in err
