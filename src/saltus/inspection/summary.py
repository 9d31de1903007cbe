"""What was chosen and how sure we are, in plain words."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Self

import numpy as np

from saltus._typing import Ints
from saltus.engine.problem.criteria import count_near, criterion_value
from saltus.estimators import AnnealedRegressor, BayesianRegressor, NetworkRegressor
from saltus.inspection.document import (
    Cell,
    Section,
    TextTable,
    count,
    join_names,
    join_sizes,
    one_line,
    percent,
    to_html,
)
from saltus.inspection.findings import (
    FEW_TERMS,
    SIZES_BESIDE_BEST,
    criterion_by_size,
    criterion_label,
    input_use,
    interval_of_noise,
    interval_of_size,
    largest_size,
    linear_effect,
    nearly_as_good,
    reach,
    share_explained,
    sizes_nearly_as_good,
)

# The table of inputs goes so far down.
MOST_INPUTS = 20
# Sizes with less than this probability are left out of their table.
RARE = 0.01
# Intervals that summaries speak of hold this share.
OF_INTERVALS = 0.95
# Above the one an input surely matters, below the other it surely does not.
SURELY, HARDLY = 0.95, 0.05

EFFECT = (
    "Effect: how much the prediction changes when the input goes from its lowest to its highest value, in standard "
    "deviations of the output."
)


class Summary(str):
    """A summary: text that knows its sections, and that a notebook shows as such."""

    __slots__ = ("headline", "sections")

    headline: str
    sections: tuple[Section, ...]

    def __new__(cls, headline: str, sections: tuple[Section, ...]) -> Self:
        """Write the sections under the headline."""
        summary = super().__new__(cls, "\n\n".join([headline, *(section.to_text() for section in sections)]))
        summary.headline, summary.sections = headline, sections
        return summary

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        sections = "\n".join(section.to_html() for section in self.sections)
        return f"<div><h2>{to_html(self.headline)}</h2>\n{sections}</div>"


def summarize_search(model: AnnealedRegressor) -> Summary:
    """Summarise a model that a search found."""
    said = "The noise is estimated from the residuals of the best network on the training rows."
    sections = (_size(model), _with_left_out(_inputs(model), model), _noise(model, said, {}), _convergence(model))
    return Summary(_title(model, count(model.n_terms_, "term")), sections)


def summarize_posterior(model: BayesianRegressor) -> Summary:
    """Summarise a model that averages over a posterior."""
    said = (
        "The noise is the root of the posterior mean of the noise variance; with probability 90 % it is between the "
        "values of the columns 'from' and 'to'."
    )
    inside = model._predictive.share_inside(OF_INTERVALS)
    if model._predictive.corrected is not None:
        said += (
            f" Left out one by one, {join_names([percent(share) for share in inside])} of the training rows would be "
            f"inside {percent(OF_INTERVALS)} intervals of this posterior: the noise is not normal, or networks that "
            f"predict together err less than each of them. Intervals of predictions are corrected for that."
        )
    low, high = interval_of_noise(model)
    noise = _noise(model, said, {"from": low.tolist(), "to": high.tolist()})
    inputs = _with_left_out(_included_inputs(model), model)
    sections = (_posterior_of_size(model), inputs, noise, _diagnostics(model))
    fewest, most = interval_of_size(model.posterior_k_)
    size = count(fewest, "term") if fewest == most else f"{fewest} to {most} terms"
    return Summary(_title(model, size), sections)


def _with_left_out(inputs: Section, model: NetworkRegressor) -> Section:
    """Say which columns are no inputs, and why, after what is said of those that are."""
    left_out = [f"Left out: {one_line(name)} ({why})." for name, why in model.data_notes_.left_out.items()]
    return replace(inputs, sentences=(*inputs.sentences, *left_out))


def _title(model: NetworkRegressor, size: str) -> str:
    notes = model.data_notes_
    explained = share_explained(model)
    ending = ""
    if np.isfinite(explained).all():
        of = one_line(notes.output_names[0]) if len(explained) == 1 else f"each of {len(explained)} outputs"
        at_least = "at least " * (len(explained) > 1)
        ending = f", {at_least}{percent(explained.min())} of the variance of {of} explained"
    return f"{type(model).__name__}: {size} for {count(notes.n_rows, 'row')}{ending}"


def _size(model: AnnealedRegressor) -> Section:
    by_size = criterion_by_size(model)
    best, k_best, behind = min(by_size.values()), model.n_terms_, nearly_as_good(model)
    others = [k for k in sizes_nearly_as_good(by_size, behind) if k != k_best]
    nearly = join_sizes([*others, k_best])
    said = [
        f"{count(k_best, 'term')}; "
        + (f"{nearly} are" if others else "no other number that was tried is")
        + f" within {behind:.3g} units of the criterion ({criterion_label(model)})."
    ]
    if k_best == 0:
        said.append("The model is linear.")
    if k_best > 0 and k_best == largest_size(model):
        said.append("k_max allows no more terms; a larger k_max may find a better model.")
    if len(model.networks_) > 1:
        said.append(
            f"Predictions average {len(model.networks_)} networks, of which the best has weight "
            f"{model.weights_.max():.2f}; this summary describes the best network."
        )
    said += _what_few_terms_cost(model)
    rows = tuple(
        (k, value, value - best)
        for k, value in by_size.items()
        if abs(k - k_best) <= SIZES_BESIDE_BEST or value - best <= behind
    )
    caption = (
        "The best value of the criterion found with each number of terms, in units of log likelihood; smaller is "
        "better. The search spends most of its time near the best number, so other numbers of terms may allow "
        "slightly better values than this table has."
    )
    columns = [("terms", "d"), ("criterion", ".2f"), ("behind", ".2f")]
    return Section("Size", tuple(said), (TextTable(caption, columns, rows),))


def _what_few_terms_cost(model: AnnealedRegressor) -> list[str]:
    """Say what a network of few terms would cost, where the best has many."""
    path = model.path_
    if len(path) < 2 * FEW_TERMS:
        return []
    error = {size.n_terms: size.leave_one_out for size in path}
    more = 100 * (error[FEW_TERMS] / error[path[0].n_terms] - 1)
    return [
        f"Its best {FEW_TERMS} terms alone, with_terms({FEW_TERMS}), have an error {more:.0f} % larger, measured by "
        f"leaving out one row at a time."
    ]


def _inputs(model: AnnealedRegressor) -> Section:
    names, effect, use = model.data_notes_.input_names, linear_effect(model), input_use(model)
    moves = reach(model)
    order = np.argsort(-moves, kind="stable")
    columns: dict[str, Sequence[Cell]] = {"effect": moves.tolist()}
    caption = EFFECT
    if effect.any():
        columns["linear effect"] = effect.tolist()
        caption += (
            " Linear effect: how much the linear term alone changes when the input grows by one of its standard "
            "deviations, in standard deviations of the output; the other terms add to it."
        )
    if use.probability is None:
        return Section("Inputs", (use.why_all,), (_input_table(names, order, columns, caption),))
    if use.amount is not None:
        caption += f" {use.meaning}"
        columns[use.name] = [value or "off" for value in use.amount.tolist()]
    table = _input_table(names, order, columns, caption)
    used = use.probability > 0
    said = (
        *_say(names, order[used[order]], "{} appears in the terms.", "{} appear in the terms."),
        *_say(
            names,
            np.flatnonzero(~used & (effect != 0)),
            "{} appears in no term but the linear one; its effect is linear or none.",
            "{} appear in no term but the linear one; their effect is linear or none.",
        ),
        *_say(names, np.flatnonzero(~used & (effect == 0)), "The model does not use {}.", "The model does not use {}."),
    )
    return Section("Inputs", said, (table,))


def _included_inputs(model: BayesianRegressor) -> Section:
    names, use = model.data_notes_.input_names, input_use(model)
    if use.probability is None:
        return Section("Inputs", (use.why_all,))
    moves = reach(model)
    order = np.argsort(-moves, kind="stable")
    caption = (
        f"{EFFECT} Probability: the posterior probability that the input appears in the terms; the linear term does "
        f"not count."
    )
    columns = {"effect": moves.tolist(), "probability": use.probability.tolist()}
    if use.amount is not None:
        caption += f" {use.meaning} The table has its posterior mean."
        columns[use.name] = use.amount.tolist()
    table = _input_table(names, order, columns, caption)
    groups = {
        f"above {SURELY:.0%}": use.probability > SURELY,
        f"between {HARDLY:.0%} and {SURELY:.0%}": (use.probability >= HARDLY) & (use.probability <= SURELY),
        f"below {HARDLY:.0%}": use.probability < HARDLY,
    }
    said = tuple(
        sentence
        for probability, members in groups.items()
        for sentence in _say(
            names,
            order[members[order]],
            f"{{}} appears in the terms with a probability {probability}.".replace("%", " %"),
            f"{{}} appear in the terms, each with a probability {probability}.".replace("%", " %"),
        )
    )
    return Section("Inputs", said, (table,))


def _input_table(names: Sequence[str], order: Ints, columns: Mapping[str, Sequence[Cell]], caption: str) -> TextTable:
    if len(names) > MOST_INPUTS:
        caption += f" The first {MOST_INPUTS} of {len(names)}."
    rows = tuple((names[j], *(values[j] for values in columns.values())) for j in order[:MOST_INPUTS])
    return TextTable(caption, [("input", ""), *((name, ".3f") for name in columns)], rows)


def _say(names: Sequence[str], members: Ints, of_one: str, of_several: str) -> list[str]:
    """Say something of the inputs with these numbers, if there are any."""
    if len(members) == 0:
        return []
    return [(of_one if len(members) == 1 else of_several).format(join_names([names[j] for j in members]))]


def _noise(model: NetworkRegressor, said: str, interval: Mapping[str, Sequence[Cell]]) -> Section:
    notes = model.data_notes_
    columns = {"of the noise": np.sqrt(np.atleast_1d(model.noise_variance_)).tolist(), **interval}
    sentences = [said]
    if len(notes.output_names) > 1:
        sentences.append("The outputs share their terms; each output has a noise of its own.")
    columns["of the output"] = notes.outputs.std.tolist()
    columns["variance explained"] = [percent(share) for share in share_explained(model).tolist()]
    rows = tuple(zip(notes.output_names, *columns.values(), strict=True))
    header = [("output", ""), *((name, ".4g") for name in columns)]
    table = TextTable("Standard deviations, in the units of the output.", header, rows)
    return Section("Noise", tuple(sentences), (table,))


def _convergence(model: AnnealedRegressor) -> Section:
    notes, chains = model.data_notes_, model.result_.chains
    values = np.array([chain.best.log_posterior for chain in chains])
    near = model._policy.resolution(notes.total_weight)
    n_near = count_near(values, near)
    if len(chains) == 1:
        verdict = "There is one chain only, so there is no other chain to compare its best model with."
    elif n_near == 1:
        verdict = (
            f"The search may not be finished: no two of {len(chains)} chains ended near the same value of the "
            f"criterion. A longer search may find a better model."
        )
    else:
        verdict = (
            f"{n_near} of {len(chains)} chains ended within {near:.3g} of the best value of the criterion. There may "
            f"be a better one that none of them found."
        )
    rows = tuple(
        (
            number,
            criterion_value(chain.best.log_posterior, notes.total_weight, len(notes.output_names)),
            chain.best.n_terms,
            chain.best.iteration,
        )
        for number, chain in enumerate(chains)
    )
    columns = [("chain", "d"), ("criterion", ".2f"), ("terms", "d"), ("found after iteration", "d")]
    table = TextTable("The best state of each chain.", columns, rows)
    ending, _, _ = model.result_.status.partition(". ")  # what else it says is in the table
    return Section("Convergence", (verdict, f"{ending}."), (table,))


def _posterior_of_size(model: BayesianRegressor) -> Section:
    posterior = model.posterior_k_
    mode = max(posterior, key=lambda k: posterior[k])
    low, high = interval_of_size(posterior)
    inside = sum(share for k, share in posterior.items() if low <= k <= high)
    n_draws = sum(len(chain.draws) for chain in model.chains_)
    effective = [f"{number:.3g}" for number in np.atleast_1d(model.effective_parameters_).tolist()]
    said = [
        f"Most probably {count(mode, 'term')} ({percent(posterior[mode])}); "
        f"{join_sizes(range(low, high + 1))} with probability {percent(inside)}.",
        f"Predictions average {count(n_draws, 'network')} drawn from the posterior.",
        f"In the mean a network has {join_names(effective)} effective degrees of freedom: it follows the data as "
        f"closely as a fit with so many coefficients that nothing holds back.",
    ]
    if posterior.get(largest_size(model), 0.0) > HARDLY:
        said.append("k_max cuts the posterior off: raise k_max.")
    near = {k: share for k, share in posterior.items() if abs(k - mode) <= SIZES_BESIDE_BEST}
    rows = tuple((k, share) for k, share in near.items() if share >= RARE)
    caption = (
        f"The posterior of the number of terms, within {SIZES_BESIDE_BEST} of the most probable, where it is at "
        f"least {percent(RARE)}."
    )
    return Section("Size", tuple(said), (TextTable(caption, [("terms", "d"), ("probability", ".3f")], rows),))


def _diagnostics(model: BayesianRegressor) -> Section:
    rows = tuple((d.name, d.rhat, d.ess_bulk, d.ess_tail) for d in model.diagnostics_)
    caption = (
        "R-hat: near 1 if the chains agree. Effective draws: how many independent draws would tell as much as the "
        "draws of all chains. f: the predicted function at fixed points in the middle of the data."
    )
    columns = [("quantity", ""), ("R-hat", ".3f"), ("effective draws", ".0f"), ("in the tails", ".0f")]
    return Section("Convergence", (model.status_,), (TextTable(caption, columns, rows),))
