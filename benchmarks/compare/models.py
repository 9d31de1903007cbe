"""Find a model by name: ``gp``, or with options, ``bayes:metric=learned,basis=gaussian``."""

import ast
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from benchmarks.compare.adapter import Adapter
from benchmarks.compare.ours import OURS
from benchmarks.compare.peers import NEEDS, PEERS
from benchmarks.compare.scikit import SCIKIT

MODELS: dict[str, Callable[..., Adapter]] = {**OURS, **SCIKIT, **PEERS}
GROUPS = {"saltus": tuple(OURS), "sklearn": tuple(SCIKIT), "peers": tuple(PEERS), "all": tuple(MODELS)}
REFERENCE = "gp"

# What models are called where somebody reads of them.
FULL_NAMES = {
    "annealed": "saltus, annealed",
    "annealed-best": "saltus, the best annealed network",
    "bayes": "saltus, Bayesian",
    "gp": "Gaussian process",
    "gp-restarts": "Gaussian process, 4 restarts",
    "kernel-ridge": "kernel ridge, tuned",
    "svr": "support vectors, tuned",
    "mlp": "neural network, tuned",
    "boosting": "boosted trees, tuned",
    "bppr": "Bayesian projection pursuit",
    "bass": "Bayesian splines (BASS)",
    "bart": "Bayesian trees (BART)",
    "rvm": "relevance vectors, tuned",
    "mars": "MARS",
    "krg": "kriging (SMT)",
    "rbf": "RBF interpolation, tuned",
    "catboost": "CatBoost",
    "lightgbm": "LightGBM",
    "ebm": "explainable boosting (EBM)",
}


def called(name: str) -> str:
    """Call a model by its full name, with its options behind it."""
    base, _, options = name.partition(":")
    return f"{FULL_NAMES.get(base, base)}{f' ({options})' if options else ''}"


def parse(name: str) -> tuple[str, dict[str, Any]]:
    """Split a name into the model and its options; values are Python literals, or else words."""
    base, _, text = name.partition(":")
    options = {}
    for item in filter(None, text.split(",")):
        key, equals, value = item.partition("=")
        if not equals:
            raise ValueError(f"The model {name!r} has the option {item!r}, which is not of the form name=value.")
        options[key.strip()] = literal(value.strip())
    return base, options


def literal(text: str) -> Any:
    """Read a number, True, False, None; or a word."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def make_model(name: str, seed: int, *, exact: bool = False) -> Adapter:
    """Make the model of that name; `exact` tells it that the data have no noise."""
    base, options = parse(name)
    model = MODELS[base](seed, **options)
    model.exact = exact
    return model


def missing(name: str) -> str | None:
    """Say what a model needs that is not installed."""
    module = NEEDS.get(parse(name)[0])
    if module is None or find_spec(module) is not None:
        return None
    return f"there is no module {module}; pip install -r benchmarks/requirements.txt"


def expand(names: list[str]) -> list[str]:
    """Replace groups by their models, and check that every name is known."""
    found = [model for name in names for model in GROUPS.get(name, (name,))]
    unknown = [name for name in found if parse(name)[0] not in MODELS]
    if unknown:
        raise ValueError(
            f"There is no model {', '.join(unknown)}. Choose from {', '.join(MODELS)}, or a group: {', '.join(GROUPS)}."
        )
    return list(dict.fromkeys(found))
