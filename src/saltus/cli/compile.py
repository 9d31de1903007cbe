"""``saltus compile``: what a first fit would wait for, in advance."""

import argparse
from time import perf_counter
from typing import TYPE_CHECKING, Any

from saltus.cli.console import DONE, note
from saltus.cli.options import add_command

if TYPE_CHECKING:
    from saltus.cli.options import Commands


def add(commands: "Commands") -> None:
    """Describe the command."""
    parser = add_command(
        commands,
        "compile",
        "",
        summary="compile the kernels, so that the first fit need not",
        description="Compile what fits of both estimators need and keep it on disk: for those who build images in "
        "which the first fit should start at once. The environment variable NUMBA_CACHE_DIR says where "
        "the code is kept; it must be the same when fits run. Build images on the kind of processor they "
        "run on.",
        example="saltus compile",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Make small fits of all sorts, and say where their code is kept."""
    from saltus._compile import COMPILING, ENTRY_POINTS, when_compiling

    began = perf_counter()
    compiled: list[str] = []

    def tell() -> None:
        compiled.append(COMPILING)
        note(COMPILING)

    with when_compiling(tell):
        _fit_all_sorts()
    if not all(entry_point.is_kept for entry_point in ENTRY_POINTS):
        raise ValueError(
            "Nothing of what was compiled is kept: neither the folder of saltus nor a cache folder of yours can be "
            "written to. Set NUMBA_CACHE_DIR to a folder that can, here and where fits run."
        )
    for folder in sorted({entry_point.folder for entry_point in ENTRY_POINTS}):
        print(f"Kept in {folder}")
    if compiled:
        print(f"Compiled in {perf_counter() - began:.0f} s. Fits now start at once.")
    else:
        print("All was compiled already. Fits start at once.")
    return DONE


def _fit_all_sorts() -> None:
    import warnings

    import numpy as np

    from saltus.engine.search.policy import SearchPolicy
    from saltus.estimators import AnnealedRegressor, BayesianRegressor
    from saltus.families import Radial
    from saltus.families.options import MIXED_OF_FEW_INPUTS

    rng = np.random.default_rng(0)
    X = rng.random((40, 3))
    y = np.sin(6 * X[:, 0]) + X[:, 1]
    one_step: dict[str, Any] = {"n_iter": 1}
    one_draw: dict[str, Any] = {"n_iter": 2, "n_warmup": 1, "n_draws": 1}
    models = (
        AnnealedRegressor(**one_step),
        AnnealedRegressor(list(MIXED_OF_FEW_INPUTS), **one_step),
        AnnealedRegressor("gaussian", patience=2, k_max=3),  # with hops
        AnnealedRegressor(Radial("gaussian", metric="standardized"), **one_step),
        AnnealedRegressor("hinges", **one_step),
        BayesianRegressor(**one_draw),
        BayesianRegressor(list(MIXED_OF_FEW_INPUTS), **one_draw),
        BayesianRegressor("gaussian", **one_draw),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in models:
            model.set_params(n_chains=1, random_state=0).fit(X, y)
            if isinstance(model, AnnealedRegressor):
                model._policy = SearchPolicy(most_rows_of_a_search=30, rows_of_a_search=20)  # so that rows are many
                model.fit(X, y)
