"""A trainer under a clock that passes only while its device works."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

from workloads.spec import Phase, Supervised

LOSS_SECONDS = 1000.0
ONE_PHASE = (Phase(name="training", protocol=Supervised(), optimizers={}),)


@dataclass
class QueueTrainer:
    """Trainer whose `step` enqueues work; `synchronize` and `losses` let the time of that work pass."""

    step_seconds: Callable[[int], float] = lambda _: 1.0
    compile_counts: Mapping[int, int] | None = None  # step -> compilations once it was taken
    loss: Callable[[int], float] = lambda taken: 1 / taken
    now: float = 0.0
    queued: list[float] = field(default_factory=list)
    taken: int = 0
    num_synchronizations: int = 0
    phases: list[tuple[str, int]] = field(default_factory=list)
    exchange_seconds: float = 0.0
    rebalancing_seconds: float = 0.0
    rebalanced_after: list[int] = field(default_factory=list)

    @property
    def joules(self) -> Mapping[str, float]:
        """One for each step, from a counter that did not begin at zero."""
        return {"host": 7.0 + self.taken}

    def begin(self, phase: Phase) -> None:
        self.phases.append((phase.name, self.taken))

    def rebalance(self) -> None:
        self.rebalanced_after.append(self.taken)
        self.now += self.rebalancing_seconds

    def step(self, index: int) -> None:
        assert index == self.taken, "steps are taken in order"
        self.queued.append(self.step_seconds(index))
        self.taken += 1

    def synchronize(self) -> None:
        self.now += sum(self.queued)
        self.queued.clear()
        self.num_synchronizations += 1

    def losses(self) -> Mapping[str, float]:
        self.synchronize()
        self.now += LOSS_SECONDS
        return {"model": self.loss(self.taken), "other": 0.0}

    def without_exchange(self) -> AbstractContextManager[None] | None:
        return self._exchanging_nothing() if self.exchange_seconds else None

    @contextmanager
    def _exchanging_nothing(self) -> Iterator[None]:
        whole, self.step_seconds = self.step_seconds, lambda _: 1.0 - self.exchange_seconds
        yield
        self.step_seconds = whole

    def compile_count(self) -> int | None:
        if self.compile_counts is None:
            return None
        return max((count for step, count in self.compile_counts.items() if step <= self.taken), default=0)


def split_phases(*shares: float) -> tuple[Phase, ...]:
    return tuple(
        Phase(name=f"phase {index}", protocol=Supervised(), optimizers={}, share=share)
        for index, share in enumerate(shares)
    )
