"""Which of the networks that a search found predict, and with which weights."""

import numpy as np

from saltus._typing import Floats
from saltus.engine.problem.design import Design
from saltus.engine.results.chains import AnnealResult
from saltus.engine.results.network import Network


def combine_networks(result: AnnealResult, design: Design, combine: str) -> tuple[tuple[Network, ...], Floats]:
    """Choose the networks that predict, and weigh them: the best, or all local optima by their posterior.

    The posterior is taken at a temperature, at which a network behind by what two terms cost counts e times
    less. At 1 the best would outweigh all others by an accident of where its search ended.
    """
    best = result.chains[result.best_chain].best
    if combine == "best":
        return (best.network,), np.ones(1)
    if design.mixture.chooses_inputs:
        return average_grown(result, design.problem.n_total * design.Y.shape[1])
    # A chain that came back to where it was counts once.
    found = {
        round(optimum.log_posterior, 6): optimum
        for chain in result.chains
        for optimum in (chain.best, *chain.local_optima)
    }
    values = np.array(list(found))
    temperature = 2.0 * design.variants[best.variant].cost_of_a_term(best.network.terms)
    weights: Floats = np.exp((values - values.max()) / temperature)
    return tuple(optimum.network for optimum in found.values()), weights / weights.sum()


def average_grown(result: AnnealResult, n_numbers: float) -> tuple[tuple[Network, ...], Floats]:
    """Weigh the best network of each chain and those drawn at temperature 1 by how well they should predict.

    A criterion estimates the mean squared error of new rows: by its logarithm, 2/N of it for each of c outputs, so that
    n_numbers is N c. Networks weigh the inverse of that. Where there is noise all weigh nearly the same; where there is
    none, and one network has a tenth of the error of another, they do not. Equal ones count together.
    """
    networks: list[Network] = []
    values: list[float] = []
    counts: dict[bytes, int] = {}
    for chain in result.chains:
        drawn = ((kept.network, kept.log_posterior) for kept in chain.snapshots if kept.predicts)
        for network, log_posterior in ((chain.best.network, chain.best.log_posterior), *drawn):
            terms = network.terms
            name = b"".join(array.tobytes() for array in (terms.family, terms.choices, terms.parameters, terms.shared))
            if name not in counts:
                networks.append(network)
                values.append(log_posterior)
            counts[name] = counts.get(name, 0) + 1
    log_errors = -2.0 / n_numbers * np.array(values)
    weights = np.array(list(counts.values())) * np.exp(log_errors.min() - log_errors)
    return tuple(networks), weights / weights.sum()
