"""A chain that mixes families and has no data must return its prior.

k is Poisson, cut at k_max; a term is of each family with the same probability, has g inputs with probability pi_g, any
set of so many inputs, any profile, and uniform parameters; every parameter in use makes it exp(COST) times less
probable. States whose columns depend on each other, or that too few rows see, are not there. What the chain returns is
compared with independent draws of all that. Run as a script it prints the worst |t|; a test runs it on copies with
planted bugs.
"""

import sys
from dataclasses import dataclass
from itertools import combinations
from math import factorial

import numpy as np

from saltus import Product, Radial, Ridge
from saltus.engine.kernels.chain import run_block
from saltus.engine.kernels.factor import COLLINEAR
from saltus.engine.kernels.state import Tuning, make_workspace, start_record, start_state
from saltus.engine.problem.problem import Criterion
from saltus.engine.search.starts import set_terms
from saltus.families.line_profiles import NAMES
from saltus.families.product.family import FittedProduct
from saltus.families.radial.family import FittedRadial
from saltus.families.ridge.family import FittedRidge
from saltus.families.terms import join_terms, terms_as_value
from saltus.families.user.fitted import FittedUser
from saltus.families.wave.family import FittedWave
from tests.engine.designs import make_with, without_likelihood
from tests.families.user.families import OwnRidge, Turns
from tests.problems import make_problem

K_MAX, MEAN, COST = 5, 6.0, 0.3
STEPS_BETWEEN_LOOKS = 20
NEAR, EDGE = 0.15, 0.01
# Waves slower than this share of the fastest are where the periodogram of the problem is.
SLOW = 0.1

# Of one, two or three inputs, where these are not all as probable.
UNEVEN = np.array([0.85, 0.1, 0.05])

PRODUCTS = Product(("hinge", "step", "bump", "wave"))
POLYNOMIALS = Product(("polynomial", "hinge"))
WAVES = Ridge("wave", max_inputs=3)
RIDGES = Ridge(("hinge", "sigmoid", "bump"), max_inputs=3)
NARROW = Radial("gaussian", 0.4, metric="standardized", widths="shared")

# The families, and whether the numbers of inputs are as probable as each other.
CASES = {
    "products": ([PRODUCTS], True),
    "ridges": ([RIDGES], True),
    "polynomials": ([POLYNOMIALS], True),
    "uneven products": ([PRODUCTS], False),
    "uneven ridges": ([RIDGES], False),
    "uneven user's": ([Turns()], False),
    "user's and others": ([OwnRidge(), NARROW, Turns(max_inputs=2), Product("bump", max_inputs=2)], True),
    "waves": ([WAVES], True),
    "uneven waves": ([WAVES], False),
    "waves and others": ([PRODUCTS, WAVES, NARROW, Ridge("wave", max_inputs=1)], True),
    "all": ([PRODUCTS, NARROW, RIDGES, Product("bump", max_inputs=2)], True),
    "a table": ([PRODUCTS], True),
    "an uneven table": ([PRODUCTS], False),
    "a table and others": ([PRODUCTS, NARROW, Product("identity", max_inputs=1), Turns(max_inputs=2), WAVES], True),
    "a table and ridges": ([RIDGES, Product(("step", "identity"), max_inputs=2)], True),
}

# Parameters that a factor, or a ridge but for its direction, has in use.
N_IN_USE = {"hinge": 1, "step": 1, "bump": 2, "wave": 2, "sigmoid": 2, "polynomial": 1, "identity": 0}

# Of five levels, the best set is worth 2/pi times four parameters, rounded up, its coefficient among them.
N_IN_USE |= {"level": 1, "subset": 2, "missing": 0}

# Numbers of a factor among the choices: its input, profile, side, and what it is where its input is missing.
A_FACTOR = 4


@dataclass(frozen=True)
class Model:
    """A design without likelihood, and the probabilities of 1, 2, ... inputs."""

    design: object
    pi: np.ndarray

    @classmethod
    def of(cls, case):
        families, is_even = CASES[case]
        problem = make_problem("a small table" if "table" in case else "three inputs", n_rows=150)
        criterion = Criterion(COST * np.arange(1000), -np.arange(K_MAX + 1) * (np.log(MEAN) + COST), 0)
        design = make_with(problem.X, problem.Y, families, criterion, margin=0.0, ridge=True, n_levels=problem.n_levels)
        pi = np.full(3, 1 / 3) if is_even else UNEVEN
        return cls(without_likelihood(design if is_even else with_shares(design, pi)), pi)

    def is_there(self, terms):
        """Say whether a chain could be there: no column is faint, or in the span of those before it."""
        problem, columns = self.design.problem, self.design.columns(terms)
        family = terms.family[self.design.mixture.owners_of_columns(terms)]
        squared = (columns**2).sum(axis=0)
        if (squared < problem.families.smallest_squared_norm[family]).any():
            return False
        root_weight = problem.root_weight.ravel()[:, None]
        off = np.minimum(((root_weight - columns) ** 2).sum(axis=0), ((root_weight + columns) ** 2).sum(axis=0))
        if (off < problem.families.smallest_complement[family]).any():
            return False
        D = np.hstack([self.design.linear.Q, columns])
        rest = np.diag(np.linalg.qr(D, mode="r"))[self.design.problem.m_fixed :] ** 2
        return bool((rest > COLLINEAR * squared).all())


def with_shares(design, pi):
    """Let terms have 1, 2, ... inputs with given probabilities."""

    def changed(data):
        if data is None:
            return None
        return data._replace(log_pi=np.log(pi)[None].copy(), shares=np.cumsum(pi)[None].copy())

    families = design.problem.families
    wave = families.wave and families.wave._replace(inputs=changed(families.wave.inputs))
    families = families._replace(
        product=changed(families.product), ridge=changed(families.ridge), user=changed(families.user), wave=wave
    )
    object.__setattr__(design, "problem", design.problem._replace(families=families))
    return design


def sorts_of(model, terms):
    """Tell of each term what it is: radial, product, ridge, wave or user's; profiles, inputs, parameters in use."""
    sorts = []
    for family, choices in zip(terms.family, terms.choices, strict=True):
        member = model.design.mixture.members[family]
        if isinstance(member, FittedProduct):
            g = int(choices[0])
            inputs, codes, sides, _ = choices[1 : 1 + A_FACTOR * g].reshape(g, A_FACTOR).T
            profiles = [NAMES[code] for code in codes]
            sorts.append(("product", profiles, inputs, sides, sum(N_IN_USE[name] for name in profiles)))
        elif isinstance(member, FittedRidge):
            g, name = int(choices[0]), NAMES[choices[1]]
            sorts.append(("ridge", [name], choices[2 : 2 + g], np.zeros(1, dtype=int), N_IN_USE[name] + g - 1))
        elif isinstance(member, FittedUser):
            g, count = int(choices[0]), member.options.count_parameters
            sorts.append(("user", [], choices[1 : 1 + g], np.zeros(1, dtype=int), count(g)))
        elif isinstance(member, FittedWave):
            g = int(choices[0])
            # Beside its frequencies, it has the coefficients of one column more than others.
            sorts.append(("wave", [], choices[1 : 1 + g], np.zeros(1, dtype=int), g + 1))
        else:
            n = n_numbers(model)
            sorts.append(("radial", [], np.arange(n), np.zeros(1, dtype=int), n))
    return sorts


def n_numbers(model):
    """Count the inputs that are numbers: all three, or in a table two."""
    data = model.design.problem.families.of_inputs
    return 3 if data is None else data.n_numbers


class Prior:
    """Draws terms from nu, tilted by what their parameters cost and by pi, many at a time."""

    def __init__(self, model, rng):
        self.model, self.rng = model, rng
        self.pool, self.mass = None, None

    def _fill(self, n=4000):
        fresh = self.model.design.mixture.draw(self.rng, n)
        sorts = sorts_of(self.model, fresh)
        weight = np.array([np.exp(-COST * n_own) * self._share(kind, inputs) for kind, _, inputs, _, n_own in sorts])
        most = 3 * self.model.pi.max()
        self.pool = fresh.take(np.flatnonzero(self.rng.random(n) * most < weight))

    def _share(self, kind, inputs):
        """How much more probable a number of inputs is than if all were alike."""
        if kind == "radial" or np.ptp(self.model.pi) == 0:
            return 1.0
        return 3 * self.model.pi[len(inputs) - 1]

    def draw_term(self):
        if self.pool is None or len(self.pool) == 0:
            self._fill()
        term, self.pool = self.pool.take(slice(1)), self.pool.take(slice(1, None))
        return term

    def draw(self):
        """Draw a state."""
        sizes = MEAN ** np.arange(K_MAX + 1) * mass_of_a_term(self.model) ** np.arange(K_MAX + 1)
        p = sizes / [factorial(k) for k in range(K_MAX + 1)]
        while True:
            k = self.rng.choice(K_MAX + 1, p=p / p.sum())
            terms = join_terms([self.model.design.mixture.empty(), *(self.draw_term() for _ in range(k))])
            if self.model.is_there(terms):
                return terms


def mass_of_a_term(model):
    """Find what nu gives exp(-COST n) in the mean, n the parameters of a term."""
    found = []
    for member in model.design.mixture.members:
        if isinstance(member, FittedRadial):
            found.append(np.exp(-n_numbers(model) * COST))
            continue
        most = member.most_inputs
        pi = model.pi if most == 3 else np.full(most, 1 / most)
        if isinstance(member, FittedProduct):
            of_inputs = [mass_of_a_factor(model, member, i) for i in range(member.scale.n_inputs)]
            of_sizes = [np.mean([np.prod(each) for each in combinations(of_inputs, g)]) for g in range(1, most + 1)]
            found.append(pi @ of_sizes)
        elif isinstance(member, FittedRidge):
            of_a_profile = np.mean([np.exp(-COST * N_IN_USE[name]) for name in member.options.profiles])
            found.append(of_a_profile * (pi @ np.exp(-COST * np.arange(most))))
        elif isinstance(member, FittedUser):
            found.append(pi @ np.exp([-COST * member.options.count_parameters(g) for g in range(1, most + 1)]))
        else:
            found.append(pi @ np.exp(-COST * (2 + np.arange(most))))
    return np.mean(found)


def mass_of_a_factor(model, member, i):
    """Find what nu gives exp(-COST n) in the mean, n the parameters of a factor on one input."""
    data, profiles = model.design.problem.families.of_inputs, member.options.profiles
    if data.n_levels[i] > 0:
        names = ["level"] if profiles == ("identity",) else ["level", "subset"]
    else:
        names = [*profiles, *(["missing"] if data.has_gaps[i] else [])]
    return np.mean([np.exp(-COST * N_IN_USE[name]) for name in names])


def statistics(model, terms):
    """Functions of a state."""
    k, sorts = len(terms), sorts_of(model, terms)
    found = [k, k**2, k == 0, k == K_MAX]
    for kind in ("radial", "product", "ridge", "wave", "user"):
        which = [j for j, sort in enumerate(sorts) if sort[0] == kind]
        own = [sorts[j] for j in which]
        parameters = terms.parameters[which]
        found += [len(own), len(own) ** 2]
        found += [sum(len(inputs) == g for _, _, inputs, _, _ in own) for g in (1, 2, 3)]
        found += [sum(0 in inputs for _, _, inputs, _, _ in own), sum(inputs[0] == 2 for _, _, inputs, _, _ in own)]
        found += [sum(profiles.count(name) for _, profiles, _, _, _ in own) for name in N_IN_USE]
        found += [sum(sides.sum() for _, _, _, sides, _ in own)]
        found += [sum(n_own for _, _, _, _, n_own in own)]
        found += [sum(len(set(inputs.tolist())) < len(inputs) for _, _, inputs, _, _ in own)]
        found += [(np.abs(parameters[:, i] - 0.5) > 0.5 - EDGE).sum() for i in range(2)]
    products = [j for j, sort in enumerate(sorts) if sort[0] == "product"]
    found += [sum(at_gap.sum() for at_gap, _ in table_of(model, terms.take(products)))]
    for level in (0, 4):
        found += [sum((word >> level & 1).sum() for _, word in table_of(model, terms.take(products)))]
    slow = [terms.parameters[j, 0] < SLOW for j, sort in enumerate(sorts) if sort[0] == "wave" and len(sort[2]) == 1]
    found += [sum(slow), sum(slow) ** 2]
    in_use = {i for kind, _, inputs, _, _ in sorts if kind != "radial" for i in inputs.tolist()}
    found += [len(in_use), k * len(in_use)]
    radial = terms.parameters[[j for j, sort in enumerate(sorts) if sort[0] == "radial"], :3]
    difference = (radial[:, None] - radial[None])[np.triu_indices(len(radial), 1)]
    near = np.abs(difference).max(axis=1, initial=0.0) < NEAR
    found += [near.sum(), np.sign(difference[near, 0] * difference[near, 1]).sum()]
    return np.array(found, dtype=float)


def table_of(model, products):
    """Take of each product what its factors are at gaps, and which levels are in their sets, as bits."""
    for family, choices in zip(products.family, products.choices, strict=True):
        g, most = int(choices[0]), model.design.mixture.members[family].most_inputs
        end = 1 + A_FACTOR * most
        words = choices[end : end + most] if model.design.problem.families.of_inputs.n_words > 0 else np.zeros(0, int)
        yield choices[1:end].reshape(most, A_FACTOR)[:g, 3], words[:g]


def run_chain(rng, model, prior, n_looks):
    """Average the statistics over a chain that starts from an exact draw."""
    design = model.design
    tuning, temperature = Tuning(0.25, 0.2, True), np.ones(STEPS_BETWEEN_LOOKS)
    state = start_state(design.problem, design.linear.Q, design.Y, design.mixture.starting_shared)
    set_terms(design, state, prior.draw())
    work, record = make_workspace(design.problem, state), start_record(state, n_looks * STEPS_BETWEEN_LOOKS)
    seen = []
    for look in range(n_looks):
        first = look * STEPS_BETWEEN_LOOKS
        run_block(rng, design.problem, tuning, state, work, record, temperature, STEPS_BETWEEN_LOOKS, first, 1)
        seen.append(statistics(model, terms_as_value(state.terms)))
    return np.mean(seen, axis=0), record.counts[:5, 2]


def t_values(case, *, n_chains, n_looks, n_prior=10_000, seed=0):
    """Student's t of each statistic that varies: chains against independent draws of the prior."""
    model = Model.of(case)
    rng = np.random.default_rng([seed, *case.encode()])
    prior = Prior(model, rng)
    exact = np.array([statistics(model, prior.draw()) for _ in range(n_prior)])
    runs = [run_chain(child, model, prior, n_looks) for child in rng.spawn(n_chains)]
    chains, accepted = np.array([means for means, _ in runs]), sum(counts for _, counts in runs)
    has_radial = model.design.mixture.radial_family >= 0
    assert (accepted[[0, 1, 4]] > 0).all(), "every move must have been accepted"
    assert (accepted[[2, 3]] > 0).all() == has_radial
    error = np.sqrt(chains.var(axis=0, ddof=1) / n_chains + exact.var(axis=0) / n_prior)
    difference = chains.mean(axis=0) - exact.mean(axis=0)
    varies = error > 0
    assert (difference[~varies] == 0).all()
    assert varies.sum() > 12
    return difference[varies] / error[varies]


if __name__ == "__main__":
    print(np.abs(t_values(sys.argv[1], n_chains=100, n_looks=200)).max())
