"""One rank's end of a split training that follows the speeds of its ranks: it looks, and moves kernels."""

from collections.abc import Sequence
from statistics import fmean

from torch.optim import Optimizer

from orchestrator.core.kernel_share import KernelMove
from orchestrator.train.kernel_balance import Balance, Look, Parts, Speeds
from orchestrator.train.kernel_calibration import of_all_ranks
from orchestrator.train.kernel_moves import move
from orchestrator.train.kernel_watch import StepWatch
from orchestrator.train.kernel_wire import Wire
from orchestrator.train.split_networks import Place, SplitNetworks, divided


class Rebalancing:
    """To be used on every rank in step with the others.

    Args:
        probed: the speeds of the calibration.

    Attributes:
        moves: as this rank saw them.
    """

    def __init__(
        self,
        split: SplitNetworks,
        places: Sequence[Place],
        *,
        probed: Speeds,
        watch: StepWatch,
        rank: int,
        wire: Wire,
    ) -> None:
        self.moves: list[KernelMove] = []
        self._split, self._places = split, places
        self._balance = Balance(probed=probed)
        self._watch, self._rank, self._wire = watch, rank, wire
        self._looked_after = 0

    def begin(self) -> None:
        """Forget the steps of another phase: they took other times."""
        self._balance = self._balance.anew()
        self._looked_after = self._watch.num_steps

    def look(self, optimizers: Sequence[Optimizer], *, taken: int) -> None:
        """Move kernels if two looks, each at enough steps, agree on a gain. The device must be idle.

        Args:
            taken: steps so far.
        """
        steps = self._watch.num_steps - self._looked_after
        if steps < self._balance.steps_to_look:
            return
        parts = [layer.parts for layer in self._split.layers]
        self._balance, better = self._balance.after(self._look_at(steps), parts, self._divided)
        self._looked_after = self._watch.num_steps
        if better is not None:
            before = self._held()
            move(self._split.layers, better, optimizers, rank=self._rank, wire=self._wire)
            self.moves.append(KernelMove(step=taken, before=before, after=self._held()))

    def _look_at(self, steps: int) -> Look:
        """What all ranks saw in so many steps, or in those that are remembered."""
        seen = self._watch.last(steps)
        means = [fmean(each) for each in zip(*((step.whole, *step.convolving) for step in seen), strict=True)]
        (master, *_), *layers = of_all_ranks(means, self._wire)
        return Look(steps=len(seen), step_seconds=master, convolving_seconds=layers)

    def _divided(self, speeds: Speeds) -> Parts:
        return divided(self._places, speeds)

    def _held(self) -> tuple[int, ...]:
        return tuple(len(layer.part.kernels) for layer in self._split.layers)
