"""Draws of the posterior as an xarray.DataTree, in the layout that ArviZ reads. Needs the extra `xarray`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from saltus._typing import Floats
from saltus.engine.problem.design import Box, OutputScale
from saltus.engine.results.draws import Draws

if TYPE_CHECKING:
    import xarray


def pad_centers(draws: Draws, box: Box, n_most: int) -> Floats:
    """Spread flat centres out to (n, n_most, d), in the user's units, NaN where a draw has fewer."""
    padded = np.full((len(draws), n_most, len(box.width)), np.nan)
    padded[np.arange(n_most) < draws.n_bases[:, None]] = box.from_unit(draws.centers_unit)
    return padded


def make_datatree(
    chains: Sequence[Draws],
    box: Box,
    outputs: OutputScale,
    feature_names: Sequence[str],
    attributes: dict[str, str],
    *,
    learns_metric: bool,
) -> "xarray.DataTree":
    """Build the groups `posterior` and `sample_stats`."""
    try:
        import xarray
    except ImportError as error:
        raise ImportError("to_datatree needs xarray. Install it with: pip install 'saltus[xarray]'.") from error
    n_most = max(int(draws.n_bases.max()) for draws in chains)
    exists = np.array([np.arange(n_most) < draws.n_bases[:, None] for draws in chains])
    widths = np.full(exists.shape, np.nan)
    widths[exists] = 1.0 / np.concatenate([draws.sharpness for draws in chains])
    centers = np.array([pad_centers(draws, box, n_most) for draws in chains])
    coordinates = {
        "chain": np.arange(len(chains)),
        "draw": np.arange(len(chains[0])),
        "center": np.arange(n_most),
        "feature": list(feature_names),
        "output": np.arange(len(outputs.scale)),
    }

    def of_output(name: str, scale: Floats) -> "xarray.DataArray":
        values = np.array([getattr(draws, name) for draws in chains]) * scale
        return xarray.DataArray(values, dims=("chain", "draw", "output"))

    posterior = xarray.Dataset(
        {
            "k": (("chain", "draw"), np.array([draws.n_bases for draws in chains])),
            "sigma_squared": of_output("sigma_squared", outputs.scale**2),
            "delta_squared": of_output("delta_squared", np.ones(1)),
            "rate": (("chain", "draw"), np.array([draws.rate for draws in chains])),
            "centers": (("chain", "draw", "center", "feature"), centers),
            "center_exists": (("chain", "draw", "center"), exists),
            "widths": (("chain", "draw", "center"), widths),
        },
        coords=coordinates,
        attrs=attributes,
    )
    if learns_metric:
        relevance = np.zeros((*centers.shape[:2], len(box.width)))
        relevance[:, :, box.varies] = [draws.relevance for draws in chains]
        posterior["relevance"] = (("chain", "draw", "feature"), relevance)
    log_posterior = np.array([draws.log_posterior for draws in chains])
    statistics = xarray.Dataset(
        {"lp": (("chain", "draw"), log_posterior)},
        coords={name: coordinates[name] for name in ("chain", "draw")},
        attrs=attributes,
    )
    return xarray.DataTree.from_dict({"posterior": posterior, "sample_stats": statistics})
