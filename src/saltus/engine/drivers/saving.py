"""What is written to a checkpoint in the course of a round."""

from dataclasses import dataclass, replace

from saltus.engine.drivers.annealing import Annealing
from saltus.engine.drivers.chain import Chain
from saltus.engine.drivers.checkpoints import Checkpointer, GeneratorState, Halfway, SavedChain, SavedRecord
from saltus.families.terms import terms_as_value


@dataclass(frozen=True)
class RoundSaver:
    """Hands one chain to the checkpointer, if there is one, in the course of a round."""

    checkpointer: Checkpointer | None
    number: int  # of the chain
    before: SavedChain  # the chain where the round began

    def save_halfway(self, annealing: Annealing) -> None:
        """Save a chain in the middle of a round, where it is a value and it is time to."""
        if self.checkpointer is None or not annealing.is_at_rebuild:
            return
        if self.checkpointer.is_due(self.number):
            self.checkpointer.save(self.number, replace(self.before, halfway=halfway_of(annealing)))

    def save_end(self, chain: Chain, *, only_if_due: bool) -> None:
        """Save a chain at the end of a round."""
        if self.checkpointer is None or (only_if_due and not self.checkpointer.is_due(self.number)):
            return
        self.checkpointer.save(self.number, chain.saved(is_done=True))


def halfway_of(annealing: Annealing) -> Halfway:
    """Copy a round; only where the factor has just been built anew."""
    state = annealing.state
    return Halfway(
        done=annealing.done,
        generator=GeneratorState.of(annealing.task.chain.rng),
        terms=terms_as_value(state.terms),
        record=SavedRecord.of(annealing.record),
        snapshots=tuple(annealing.snapshots),
        started_at=annealing.started_at,
        hottest=annealing.hottest,
        coldest=annealing.coldest,
    )
