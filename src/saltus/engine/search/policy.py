"""How a search spends its effort: the figures that were chosen by measurement, as one value."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SearchPolicy:
    """The tuning constants of searches.

    An estimator has the default. Another one changes what a fit finds and how long it takes, not what it looks for.
    """

    # Fits without a given length run in rounds of this many iterations, each from the best state of the chain; of twice
    # as many after a round without an improvement, and so on up to the longest.
    iterations_a_round: int = 20_000
    most_doublings: int = 4
    # Rounds are shorter in proportion where there are more rows than this, but not below the fewest: there, descents go
    # farther in the same time. Friedman 1 with 20 000 rows and 10 inputs, mean error to the truth and CPU seconds over
    # seeds 20-23: .0543 and 49 with rounds of 20 000 iterations, .0537 and 38 with 10 000, .0538 and 36 with 5 000.
    most_rows_of_long_rounds: int = 10_000
    fewest_iterations_a_round: int = 400

    # A block of iterations runs without asking whether to stop for about this many seconds.
    block_seconds: float = 0.03

    # A chain this many times the cost of a term behind the best starts again, or, with many rows, this many
    # times the resolution.
    behind: float = 3.0

    # A descent from a start sees so many rows at first, drawn at random, then `finer` times as many, and so on; all at
    # the end, or `most_rows`. Friedman 1 with 100 000 rows, 3 starts with shared widths and 3 with own, mean log pi
    # above -575 700 and CPU seconds: 66 and 7.2 by 5 000, 20 000 and all; 67 and 15 by 5 000 and all, thoroughly; 68
    # and 6.2 from 2 000 on. With 20 000 alone, the best of three random starts, -2 and 8 (4 times), which 20 000
    # annealed iterations bring to 48 in 30.
    rows_at_first: int = 5_000
    finer: int = 4
    most_rows: int = 1_000_000
    # With more rows than this, descents are less thorough and a round has fewer of them.
    many_rows: int = 20_000

    # Forward selection draws so many candidates for each term that comes in, or fewer where inputs are few, and looks
    # closely at a few of them.
    candidates: int = 500
    candidates_an_input: int = 100
    finalists: int = 12
    # Networks that are grown from several sets of families have so many terms after the first turn, twice as many after
    # the next; one that is behind by so much of log pi for each row and output grows no more. After so many turns the
    # best of them goes on alone.
    terms_of_first_turn: int = 30
    turns: int = 3
    far_behind: float = 0.03
    # A round from there has so many floating-point operations, and no more iterations than this.
    flops_of_a_round: float = 6e9
    most_iterations_after_growth: int = 30_000
    # Rounds of so many iterations are long enough to walk about at temperature 1, and networks from there are averaged;
    # shorter ones only cool. Noisy functions, seeds 22 and 23, error over a Gaussian process's: .93 where the best
    # network of each chain predicts, .82 with networks from 20 000 iterations, .80 from 30 000, .79 from 60 000.
    fewest_iterations_to_sample: int = 10_000
    # A descent from there has so many floating-point operations, and a number of evaluations within bounds.
    flops_of_a_descent: float = 2e9
    most_evaluations: int = 60
    # With so many rows and more, networks of ridges are tried beside others that are grown to so many terms and descend
    # far: so many operations for each row, and evaluations.
    fewest_rows_to_descend: int = 1_000
    flops_of_a_long_descent: float = 6e6
    most_evaluations_of_a_long_descent: int = 120
    terms_to_descend: int = 150
    # If chains then start with such networks, these have a term for each so many rows, no fewer than those and no more
    # than this, and evaluations in proportion, which take operations in proportion to the cube of the terms. Split 12
    # of kin40k, error of one network over the spread of y, and CPU seconds: .184 and 18 with 150 terms and 100
    # evaluations, .166 and 47 with 300, .095 to .127 and 60 with 300 terms and 120, and .092 by the average of four.
    rows_a_descended_term: int = 120
    most_terms_to_descend: int = 300
    fewest_evaluations: int = 5

    # A fit to more rows than this searches among so many of them, and refines what it finds with more and more, `finer`
    # times as many at a time, the last with all (engine/rows). Those before hold so many numbers at most.
    most_rows_of_a_search: int = 50_000
    rows_of_a_search: int = 10_000
    numbers_in_memory: float = 4e6
    # So many rows nominate terms, and give the curvature of descents. A round brings in up to so many terms, takes so
    # many steps, and is one of so many with the same rows; it is the last if it gains less than a share of the rows.
    rows_that_nominate: int = 40_000
    fewest_terms_a_round: int = 16
    most_terms_a_round: int = 64
    steps_of_refinement: int = 5
    rounds_of_refinement: int = 6
    gain_a_row: float = 1e-5
    # No round begins after so many passes over the same rows.
    most_passes: int = 60
    # For each of the networks, a stage has so many floating-point operations, and the second number of them for each
    # row; the curvature of a step has so many. Of each choice among the rows that nominate, so many are nominated.
    flops_of_a_stage: float = 2e10
    flops_of_a_stage_a_row: float = 3e5
    flops_of_curvature: float = 2e9
    nominees_a_step: int = 12
    # What a new term has to gain beyond what it costs: about ln of the number of candidates that it is the best of.
    charge_of_refinement: float = 6.0

    # Values of log pi this near are as good as the same. So are, with many rows, those that differ by `same_a_row` for
    # each row, as they do where the variance of the residuals differs by twice this share.
    same: float = 1.0
    same_a_row: float = 1e-4

    def resolution(self, n_total: float) -> float:
        """Say how near two values of log pi are that are as good as the same, for rows of this total weight."""
        return max(self.same, self.same_a_row * n_total)

    def resolution_of_refinement(self, n_total: float) -> float:
        """Say what a round or a step of a refinement gains at least, or is the last."""
        return max(self.same, self.gain_a_row * n_total)

    def terms_of_a_round(self, k: int) -> int:
        """Say how many terms may come in, in one round of a refinement, beside k."""
        return min(max(k // 2, self.fewest_terms_a_round), self.most_terms_a_round)

    def candidates_of(self, n_inputs: int) -> int:
        """Say how many candidates forward selection draws for a term."""
        return min(self.candidates, self.candidates_an_input * n_inputs)

    def terms_of_long_descent(self, n_rows: float) -> int:
        """Say how many terms networks have with which chains start that descend far."""
        return min(max(int(n_rows / self.rows_a_descended_term), self.terms_to_descend), self.most_terms_to_descend)

    def terms_past_best(self, k: int) -> int:
        """Say how many terms forward selection brings in after the best network so far, of k terms, before it ends."""
        return 5 + k // 10

    def iterations_after_growth(self, n_rows: float, k_max: int) -> int:
        """Say how many iterations a round has after a network was grown."""
        flops = 8.0 * n_rows * max(min(k_max, 50), 1)  # of an iteration
        return int(min(max(self.flops_of_a_round / flops, 10), self.most_iterations_after_growth))

    def iterations_of_first_round(self, n_rows: int) -> int:
        """Say how many iterations the first round of a fit without a given length has."""
        share = min(self.most_rows_of_long_rounds / n_rows, 1.0)
        return max(int(self.iterations_a_round * share), min(self.fewest_iterations_a_round, self.iterations_a_round))


DEFAULT_POLICY = SearchPolicy()
