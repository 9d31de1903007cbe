"""What was chosen and how sure we are, in plain words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from saltus._typing import Bools, Ints
from saltus.engine.problem.criteria import count_near, criterion_value, resolution
from saltus.estimators import AnnealedRegressor, BayesianRegressor, Regressor
from saltus.inspection.document import Cell, Section, Table, count, join_names, join_sizes, one_line, percent, to_html
from saltus.inspection.findings import (
    SIZES_BESIDE_BEST,
    criterion_by_size,
    criterion_label,
    inclusion_in_use,
    interval_of_noise,
    interval_of_size,
    largest_size,
    linear_effect,
    nearly_as_good,
    reach,
    relevance_in_use,
    share_explained,
    sizes_nearly_as_good,
)

# The table of inputs goes so far down.
MOST_INPUTS = 20
# Sizes with less than this probability are left out of their table.
RARE = 0.01
# Above the one an input surely matters, below the other it surely does not.
SURELY, HARDLY = 0.95, 0.05

MOVES = "Moves output by: how far it goes along the range of the input, in its standard deviations."


@dataclass(frozen=True)
class Summary:
    """A summary: print it, or let a notebook show it."""

    title: str
    sections: tuple[Section, ...]

    def __str__(self) -> str:
        return "\n\n".join([self.title, *(section.to_text() for section in self.sections)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        sections = "\n".join(section.to_html() for section in self.sections)
        return f"<div><h2>{to_html(self.title)}</h2>\n{sections}</div>"


def summarize(model: Regressor) -> Summary:
    """Summarise a fitted model."""
    if isinstance(model, BayesianRegressor):
        sections = (_posterior_of_size(model), _included_inputs(model), _noise(model), _diagnostics(model))
    else:
        sections = (_size(model), _inputs(model), _noise(model), _convergence(model))
    return Summary(_title(model), sections)


def _title(model: Regressor) -> str:
    notes = model.data_notes_
    explained = share_explained(model)
    ending = ""
    if np.isfinite(explained).all():
        of = one_line(notes.output_names[0]) if len(explained) == 1 else f"each of {len(explained)} outputs"
        at_least = "at least " * (len(explained) > 1)
        ending = f", {at_least}{percent(explained.min())} of the variance of {of} explained"
    return f"{type(model).__name__}: {_size_in_words(model)} for {count(notes.n_rows, 'row')}{ending}"


def _size_in_words(model: Regressor) -> str:
    if isinstance(model, BayesianRegressor):
        low, high = interval_of_size(model.posterior_k_)
        return count(low, "centre") if low == high else f"{low} to {high} centres"
    return count(model.n_bases_, "centre")


def _size(model: AnnealedRegressor) -> Section:
    by_size = criterion_by_size(model)
    best, k_best, behind = min(by_size.values()), model.n_bases_, nearly_as_good(model)
    others = [k for k in sizes_nearly_as_good(by_size, behind) if k != k_best]
    nearly = join_sizes([*others, k_best])
    said = [
        f"{count(k_best, 'centre')}; "
        + (f"{nearly} are" if others else "no other number that was tried is")
        + f" within {behind:.3g} units of the criterion ({criterion_label(model)})."
    ]
    if k_best == 0:
        said.append("The model is linear.")
    if k_best > 0 and k_best == largest_size(model):
        said.append("No more were allowed: a larger k_max may find a better model.")
    if len(model.networks_) > 1:
        said.append(
            f"Predictions average {len(model.networks_)} networks, of which the best has weight "
            f"{model.weights_.max():.2f}; what follows describes that one."
        )
    rows = tuple(
        (k, value, value - best)
        for k, value in by_size.items()
        if abs(k - k_best) <= SIZES_BESIDE_BEST or value - best <= behind
    )
    caption = (
        "The best criterion seen with each number of centres, in units of log likelihood; less is better. "
        "The search dwells on the best: others may do a little better than they show."
    )
    columns = [("centres", "d"), ("criterion", ".2f"), ("behind", ".2f")]
    return Section("Size", tuple(said), (Table(caption, columns, rows),))


def _inputs(model: AnnealedRegressor) -> Section:
    names, effect, relevance = model.data_notes_.input_names, linear_effect(model), relevance_in_use(model)
    moves = reach(model)
    order = np.argsort(-moves, kind="stable")
    columns: dict[str, Sequence[Cell]] = {"moves output by": moves.tolist(), "linear effect": effect.tolist()}
    caption = (
        f"{MOVES} Linear effect: standard deviations of the output for one of the input, by the linear term alone, to "
        f"which basis functions add."
    )
    if relevance is None:
        return Section("Inputs", (_fixed_metric(model),), (_input_table(names, order, columns, caption),))
    caption += " Relevance: one over the length scale, at width 1, in standard deviations of the input."
    columns["relevance"] = [value or "off" for value in relevance.tolist()]
    table = _input_table(names, order, columns, caption)
    groups = {
        "In the basis functions": relevance > 0,
        "Exactly off there, and at most linear": (relevance == 0) & (effect != 0),
        "Not used at all": (relevance == 0) & (effect == 0),
    }
    return Section("Inputs", _name_groups(names, order, groups), (table,))


def _included_inputs(model: BayesianRegressor) -> Section:
    names, inclusion = model.data_notes_.input_names, inclusion_in_use(model)
    if inclusion is None:
        return Section("Inputs", (_fixed_metric(model),))
    relevance, moves = model.relevance_ if inclusion.any() else inclusion, reach(model)
    order = np.argsort(-moves, kind="stable")
    caption = (
        f"{MOVES} Probability: that the input is in the basis functions; the linear term is apart from this. "
        f"Relevance: its mean there, one over the length scale at width 1, in standard deviations of the input."
    )
    columns = {"moves output by": moves.tolist(), "probability": inclusion.tolist(), "relevance": relevance.tolist()}
    table = _input_table(names, order, columns, caption)
    groups = {
        "Surely in the basis functions": inclusion > SURELY,
        "Perhaps there": (inclusion >= HARDLY) & (inclusion <= SURELY),
        "Hardly there": inclusion < HARDLY,
    }
    return Section("Inputs", _name_groups(names, order, groups), (table,))


def _fixed_metric(model: Regressor) -> str:
    metric = repr(model.metric) if isinstance(model.metric, str) else "a matrix"
    return (
        f"Every input enters the basis functions, as metric={metric} has it; metric='learned' finds those that matter."
    )


def _input_table(names: Sequence[str], order: Ints, columns: Mapping[str, Sequence[Cell]], caption: str) -> Table:
    if len(names) > MOST_INPUTS:
        caption += f" The first {MOST_INPUTS} of {len(names)}."
    rows = tuple((names[j], *(values[j] for values in columns.values())) for j in order[:MOST_INPUTS])
    return Table(caption, [("input", ""), *((name, ".3f") for name in columns)], rows)


def _name_groups(names: Sequence[str], order: Ints, groups: Mapping[str, Bools]) -> tuple[str, ...]:
    return tuple(
        f"{group}: {join_names([names[j] for j in order if members[j]])}."
        for group, members in groups.items()
        if members.any()
    )


def _noise(model: Regressor) -> Section:
    notes = model.data_notes_
    columns: dict[str, Sequence[Cell]] = {"of the noise": np.sqrt(np.atleast_1d(model.noise_variance_)).tolist()}
    if isinstance(model, BayesianRegressor):
        said = ["The posterior mean of the noise variance, and where the noise is with probability 90 %."]
        low, high = interval_of_noise(model)
        columns |= {"from": low.tolist(), "to": high.tolist()}
    else:
        said = ["Estimated from the residuals of the best network, on the rows of the fit."]
    if len(notes.output_names) > 1:
        said.append("Outputs share their centres and have a noise each.")
    columns["of the output"] = notes.outputs.std.tolist()
    columns["variance explained"] = [percent(share) for share in share_explained(model).tolist()]
    rows = tuple(zip(notes.output_names, *columns.values(), strict=True))
    header = [("output", ""), *((name, ".4g") for name in columns)]
    table = Table("Standard deviations, in the units of the output.", header, rows)
    return Section("Noise", tuple(said), (table,))


def _convergence(model: AnnealedRegressor) -> Section:
    notes, chains = model.data_notes_, model.result_.chains
    values = np.array([chain.best.log_posterior for chain in chains])
    near = resolution(notes.total_weight)
    n_agree = count_near(values, near)
    if len(chains) == 1:
        verdict = "There is one chain, so nothing says whether another would have found a better model."
    elif n_agree == 1:
        verdict = (
            f"The search may not be finished: each of {len(chains)} chains ended somewhere else. A longer one may find "
            f"a better model."
        )
    else:
        verdict = f"{n_agree} of {len(chains)} chains agree on the best value to within {near:.3g}."
    rows = tuple(
        (
            number,
            criterion_value(chain.best.log_posterior, notes.total_weight, len(notes.output_names)),
            chain.best.n_bases,
            chain.best.iteration,
        )
        for number, chain in enumerate(chains)
    )
    columns = [("chain", "d"), ("criterion", ".2f"), ("centres", "d"), ("found after iteration", "d")]
    table = Table("The best state of each chain.", columns, rows)
    ending, _, _ = model.result_.status.partition(". ")  # what else it says is in the table
    return Section("Convergence", (verdict, f"{ending}."), (table,))


def _posterior_of_size(model: BayesianRegressor) -> Section:
    posterior = model.posterior_k_
    mode = max(posterior, key=lambda k: posterior[k])
    low, high = interval_of_size(posterior)
    inside = sum(share for k, share in posterior.items() if low <= k <= high)
    n_draws = sum(len(chain.draws) for chain in model.chains_)
    said = [
        f"Most probably {count(mode, 'centre')} ({percent(posterior[mode])}); "
        f"{join_sizes(range(low, high + 1))} with probability {percent(inside)}.",
        f"Predictions average {count(n_draws, 'network')} drawn from the posterior.",
    ]
    if posterior.get(largest_size(model), 0.0) > HARDLY:
        said.append("k_max cuts the posterior off: raise it.")
    near = {k: share for k, share in posterior.items() if abs(k - mode) <= SIZES_BESIDE_BEST}
    rows = tuple((k, share) for k, share in near.items() if share >= RARE)
    caption = (
        f"The posterior of the number of centres, within {SIZES_BESIDE_BEST} of the most probable, where it is at "
        f"least {percent(RARE)}."
    )
    return Section("Size", tuple(said), (Table(caption, [("centres", "d"), ("probability", ".3f")], rows),))


def _diagnostics(model: BayesianRegressor) -> Section:
    rows = tuple((d.name, d.rhat, d.ess_bulk, d.ess_tail) for d in model.diagnostics_)
    caption = (
        "R-hat is near 1 where chains agree; the effective sample sizes say how many independent draws they are worth. "
        "f is the function at fixed points in the middle of the data."
    )
    columns = [("quantity", ""), ("R-hat", ".3f"), ("effective draws", ".0f"), ("in the tails", ".0f")]
    return Section("Convergence", (model.status_,), (Table(caption, columns, rows),))
