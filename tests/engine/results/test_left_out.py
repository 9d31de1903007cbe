import numpy as np
import pytest
from scipy.stats import t as student

import saltus
from saltus import BayesianRegressor
from saltus.engine.results.left_out import average_left_out, correct_intervals, probabilities_left_out

N = 300


def data(noise, seed=0, n=N):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 1))
    return X, np.sin(X[:, 0]) + 0.2 * noise(rng, n)


def normal(rng, n):
    return rng.standard_normal(n)


def heavy(rng, n):
    return rng.standard_t(1.5, n)


@pytest.fixture(scope="module")
def models():
    options = {"n_iter": 2000, "n_chains": 2, "random_state": 0}
    return {noise: BayesianRegressor(["hinges", "bumps"], **options).fit(*data(noise)) for noise in (normal, heavy)}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
class TestLeftOut:
    def test_a_row_is_predicted_as_by_a_fit_without_it(self):
        """One draw with a flat prior: the leave-one-out distribution is that of least squares on the other rows."""
        X, y = data(normal, n=40)
        # No terms, a linear term with a flat prior.
        model = BayesianRegressor("hinges", linear="all", k_max=0, n_iter=10, n_chains=1, random_state=0).fit(X, y)
        found = probabilities_left_out(model._predictive, np.zeros(10, dtype=int), X, y[:, None])[:, 0]
        for i in (0, 7, 39):
            others = np.delete(np.arange(40), i)
            D = np.column_stack([np.ones(39), X[others]])
            row = np.r_[1.0, X[i]]
            alpha, rss = np.linalg.lstsq(D, y[others])[:2]
            scale = np.sqrt(rss[0] / 37 * (1 + row @ np.linalg.solve(D.T @ D, row)))
            assert found[i] == pytest.approx(student.cdf((y[i] - row @ alpha) / scale, 37), abs=1e-8)

    def test_draws_weigh_one_over_the_density(self):
        rng = np.random.default_rng(0)
        values, density = rng.random((50, 3)), rng.uniform(0.5, 1.5, (50, 3))
        expected = (values / density).sum(axis=0) / (1 / density).sum(axis=0)
        np.testing.assert_allclose(average_left_out(values, np.log(density)), expected)

    def test_no_draw_weighs_more_than_the_root_of_their_number(self):
        values, log_density = np.zeros((100, 1)), np.zeros((100, 1))
        values[0], log_density[0] = 1.0, -50.0
        weights = np.r_[10.0 * np.exp(50.0) / 100, np.ones(99)]
        np.testing.assert_allclose(average_left_out(values, log_density), weights[0] / weights.sum(), rtol=1e-6)

    def test_the_more_columns_a_row_has_the_more_weights_over_all_chains_count(self, models, monkeypatch):
        model = models[heavy]
        X, y = data(heavy)
        predictive, chain = model._predictive, np.repeat([0, 1], [len(chain.draws) for chain in model.chains_])

        def found(times):
            monkeypatch.setattr("saltus.engine.results.left_out.ACROSS_A_COLUMN", times)
            return probabilities_left_out(predictive, chain, X, y[:, None])

        n_columns = np.mean([len(draw.mean) for draw in predictive.draws])
        across, within = found(np.inf), found(0.0)
        assert np.abs(across - within).max() > 1e-3
        expected = within + 6.0 * n_columns / (N - 1) * (across - within)
        np.testing.assert_allclose(found(6.0), expected, rtol=0.02, atol=1e-6)

    def test_intervals_stay_as_they_are_where_noise_is_normal(self, models):
        assert models[normal]._predictive.corrected is None
        assert "Left out" not in str(models[normal].summary())

    def test_intervals_are_corrected_where_noise_is_heavy(self, models):
        model = models[heavy]
        X, y = data(heavy, seed=1, n=4000)
        inside = {}
        for coverage in (0.5, 0.8, 0.95):
            low, high = model.predict_interval(X, coverage)
            inside[coverage] = np.mean((low <= y) & (y <= high))
        assert {c: round(share, 3) for c, share in inside.items() if abs(share - c) > 0.06} == {}
        mixture = next(mixture for _, mixture in model._predictive.mixtures(X))
        low, high = mixture.quantile(0.25)[:, 0], mixture.quantile(0.75)[:, 0]
        assert np.mean((low <= y) & (y <= high)) > 0.7  # as the posterior would have it
        assert "are corrected for that" in str(model.summary()).replace("\n  ", " ")

    def test_a_weight_counts_as_rows(self, models):
        model = models[heavy]
        X, y = data(heavy)
        chain = np.repeat([0, 1], [len(chain.draws) for chain in model.chains_])
        weight = np.random.default_rng(0).integers(1, 3, N)
        weighted = correct_intervals(model._predictive, chain, X, y[:, None], weight.astype(float))
        repeated = correct_intervals(
            model._predictive, chain, np.repeat(X, weight, axis=0), np.repeat(y, weight)[:, None], np.ones(weight.sum())
        )
        np.testing.assert_allclose(weighted, repeated, atol=1e-8)

    def test_corrections_are_saved(self, models, tmp_path):
        X, _ = data(heavy)
        models[heavy].save(tmp_path / "model.saltus")
        same = saltus.load(tmp_path / "model.saltus")
        np.testing.assert_array_equal(same.predict_interval(X), models[heavy].predict_interval(X))

    def test_intervals_of_the_function_are_within_those_of_y(self, models):
        X, _ = data(normal)
        low, high = models[normal].predict_interval(X, 0.9)
        low_f, high_f = models[normal].predict_interval(X, 0.9, of="function")
        assert ((low < low_f) & (high_f < high)).all()
        truth = np.sin(X[:, 0])
        assert np.mean((low_f < truth) & (truth < high_f)) > 0.7

    def test_what_intervals_are_of_is_checked(self, models):
        with pytest.raises(ValueError, match="for the mean of y"):
            models[normal].predict_interval([[0.0]], of="f")
