"""(the run of a script that reported no step) -> the times of a rank, in which no step has one. Pure."""

from orchestrator.train.measurement.loop import LoopTimes
from orchestrator.train.trainers.script.connection import WholeRun


def build_times(whole_run: WholeRun, *, load_average: tuple[float, float]) -> LoopTimes:
    """Return the times of a script that was measured as a whole.

    Args:
        load_average: one-minute load average of the host before and after the run.
    """
    return LoopTimes(
        first_step_seconds=0.0,
        warmup_steps=0,
        warmup_seconds=0.0,
        steps_per_block=1,
        block_seconds=(),
        reading_seconds=(),
        stopped_because="run",
        compile_counts=None,
        steps=0,
        training_seconds=whole_run.seconds,
        phase_seconds={},
        losses=(),
        network_losses={},
        cpu_seconds=whole_run.cpu_seconds,
        load_average=load_average,
        energy_joules={},
        run_seconds=whole_run.seconds,
    )
