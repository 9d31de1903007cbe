"""Kernels are compiled again where their sources change, and only there."""

import importlib.util
import shutil
from pathlib import Path

import pytest

import saltus
from saltus import _jit, _pipeline

PACKAGE = Path(saltus.__file__).parent


def digest_of(package):
    """Hash the sources of a copy."""
    spec = importlib.util.spec_from_file_location("copied_jit", package / "_jit.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.source_digest()


@pytest.fixture
def copy(tmp_path):
    return shutil.copytree(PACKAGE, tmp_path / "saltus", ignore=shutil.ignore_patterns("__pycache__"))


def test_a_copy_has_the_same_digest(copy):
    assert digest_of(copy) == _jit.source_digest()


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        ("_vectors.py", True),
        ("families/profiles.py", True),
        ("families/radial/kernels.py", True),
        ("families/radial/moves.py", True),
        ("engine/kernels/target.py", True),
        ("engine/search/gradient.py", True),
        ("engine/drivers/anneal.py", False),
        ("engine/results/network.py", False),
        ("estimators/base.py", False),
        ("report/svg.py", False),
    ],
)
def test_an_edited_file_changes_the_digest_if_kernels_are_compiled_from_it(copy, file, changes):
    with (copy / file).open("a") as source:
        source.write("\n# edited\n")
    assert (digest_of(copy) != _jit.source_digest()) == changes


def test_a_file_of_a_new_family_is_hashed_where_it_lies(copy):
    (copy / "families" / "other").mkdir()
    (copy / "families" / "other" / "kernels.py").write_text("# a new family\n")
    assert digest_of(copy) != _jit.source_digest()


def test_every_file_with_kernels_in_it_is_hashed():
    """A file that makes kernels lies in a folder that is hashed."""
    makers = ("@kernel", "@glue", "@reducing_kernel", "@entry_point")
    with_kernels = [
        path.relative_to(PACKAGE)
        for path in PACKAGE.rglob("*.py")
        if any(line.strip().startswith(makers) for line in path.read_text("utf-8").splitlines())
    ]
    assert len(with_kernels) > 10
    for path in with_kernels:
        assert path.as_posix().startswith(_jit.COMPILED) or path.name in {"_vectors.py", "_tiles.py"}, path


@pytest.mark.parametrize("fails", [False, True])
def test_numba_remembers_types_only_while_an_entry_point_is_compiled(fails):
    find = _pipeline.BaseFunction.get_call_type
    try:
        with _pipeline.remembered_types():
            assert _pipeline.BaseFunction.get_call_type is not find
            if fails:
                raise RuntimeError
    except RuntimeError:
        pass
    assert _pipeline.BaseFunction.get_call_type is find


def test_kernels_leave_out_passes_that_exist():
    """A pass that numba renames is not left out silently."""
    from numba.core import typed_passes, untyped_passes

    for name in _pipeline.WITHOUT:
        assert hasattr(untyped_passes, name) or hasattr(typed_passes, name), name
