"""Draws of the posterior as an xarray.DataTree, in the layout that ArviZ reads. Needs the extra `xarray`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

import saltus
from saltus._typing import Floats
from saltus.engine.problem.scaling import OutputScale
from saltus.engine.results.draws import Draws
from saltus.engine.results.predictive import Features, Predictive
from saltus.estimators.sampled import SampledModel
from saltus.families.terms import join_terms
from saltus.inspection.metrics import check_rows

if TYPE_CHECKING:
    import xarray


def describe_draws(
    model: SampledModel,
    rng: np.random.Generator,
    X: ArrayLike | None,
    y: ArrayLike | None,
    *,
    posterior_predictive: bool,
) -> "xarray.DataTree":
    """Export the draws of a model and, where rows are given, what they say of these."""
    if (X is None) != (y is None) or (posterior_predictive and X is None):
        raise ValueError(
            "to_datatree needs both X and y, the rows that the model was fitted to, or neither; "
            "posterior_predictive=True needs them."
        )
    tree = make_datatree(
        [chain.draws for chain in model.chains_],
        model._predictive.features,
        model._predictive.outputs,
        [str(name) for name in model.data_notes_.input_names],
        {"inference_library": "saltus", "inference_library_version": saltus.__version__, "model": repr(model)},
        has_ridge=model._has_ridge(model._predictive.features.mixture.chooses_inputs),
    )
    if X is not None and y is not None:
        inputs, targets = check_rows(model, X, y)
        add_rows(tree, model._predictive, rng, inputs, targets, posterior_predictive=posterior_predictive)
    return tree


def make_datatree(
    chains: Sequence[Draws],
    features: Features,
    outputs: OutputScale,
    feature_names: Sequence[str],
    attributes: dict[str, str],
    *,
    has_ridge: bool,
) -> "xarray.DataTree":
    """Build the groups `posterior`, `terms` and `sample_stats`. What terms are made of, the family names.

    Terms have a group of their own: the first term of one draw has nothing to do with the first of the next, so that
    averages over draws say nothing.
    """
    try:
        import xarray
    except ImportError as error:
        raise ImportError("to_datatree needs xarray. Install it with: pip install 'saltus[xarray]'.") from error
    n_most = max(int(draws.n_terms.max()) for draws in chains)
    exists = np.array([np.arange(n_most) < draws.n_terms[:, None] for draws in chains])
    coordinates = {
        "chain": np.arange(len(chains)),
        "draw": np.arange(len(chains[0])),
        "term": np.arange(n_most),
        "feature": list(feature_names),
        "output": np.arange(len(outputs.scale)),
    }

    def of_output(name: str, scale: Floats) -> "xarray.DataArray":
        values = np.array([getattr(draws, name) for draws in chains]) * scale
        return xarray.DataArray(values, dims=("chain", "draw", "output"))

    above: dict[str, Any] = {"delta_squared" if has_ridge else "g": of_output("prior_width", np.ones(1))}
    if has_ridge:
        above["rate"] = (("chain", "draw"), np.array([draws.rate for draws in chains]))
    posterior = xarray.Dataset(
        {
            "k": (("chain", "draw"), np.array([draws.n_terms for draws in chains])),
            "sigma_squared": of_output("sigma_squared", outputs.scale**2),
            **above,
        },
        coords={name: values for name, values in coordinates.items() if name != "term"},
        attrs=attributes,
    )
    of_terms = xarray.Dataset(
        {"exists": (("chain", "draw", "term"), exists)},
        coords={name: values for name, values in coordinates.items() if name != "output"},
        attrs=attributes,
    )
    terms = join_terms([draws.all_terms for draws in chains])
    shared = np.array([draws.shared for draws in chains])
    for name, (axes, values) in features.mixture.inspection.variables(features.box, terms, shared).items():
        if axes[0] == "term":  # spread out, NaN where a draw has fewer terms than the most
            padded = np.full((*exists.shape, *values.shape[1:]), np.nan)
            padded[exists] = values
            of_terms[name] = (("chain", "draw", *axes), padded)
        else:
            posterior[name] = (("chain", "draw", *axes), values)
    log_posterior = np.array([draws.log_posterior for draws in chains])
    statistics = xarray.Dataset(
        {"lp": (("chain", "draw"), log_posterior)},
        coords={name: coordinates[name] for name in ("chain", "draw")},
        attrs=attributes,
    )
    return xarray.DataTree.from_dict({"posterior": posterior, "terms": of_terms, "sample_stats": statistics})


def add_rows(
    tree: "xarray.DataTree",
    predictive: Predictive,
    rng: np.random.Generator,
    X: Floats,
    Y: Floats,
    *,
    posterior_predictive: bool,
) -> None:
    """Add what draws say of rows (N, d) and (N, c): log likelihoods, and new y if asked for. Mutates the tree."""
    import xarray

    sizes = tree["posterior"].sizes
    log_likelihood, new = np.empty((2, len(predictive.draws), *Y.shape))
    for j, (f, sigma_squared) in enumerate(predictive.functions(rng, X)):
        log_likelihood[j] = -0.5 * (np.log(2.0 * np.pi * sigma_squared) + (Y - f) ** 2 / sigma_squared)
        if posterior_predictive:
            new[j] = f + np.sqrt(sigma_squared) * rng.standard_normal(f.shape)
    axes = ("row",) if Y.shape[1] == 1 else ("row", "output")
    shape = Y.shape[: len(axes)]

    def group(values: Floats, *before: str) -> "xarray.DataTree":
        spread = values.reshape(*(sizes[name] for name in before), *shape)
        return xarray.DataTree(xarray.Dataset({"y": ((*before, *axes), spread)}, attrs=tree["posterior"].attrs))

    tree["log_likelihood"] = group(log_likelihood, "chain", "draw")
    tree["observed_data"] = group(Y)
    if posterior_predictive:
        tree["posterior_predictive"] = group(new, "chain", "draw")
