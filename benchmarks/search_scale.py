"""Seconds to choose the next trial of an adaptive search, by the number of points.

    python benchmarks/search_scale.py [--points 100,1000,10000]

Points are trainers x precisions x batch sizes of a made-up world: `tests/support/runs/searched_worlds.py`.
Seconds are those of this process's CPU time, so that other work on the host does not count; the clock's are
in brackets. Each decision follows the record of the trial before it.
"""

import argparse
import sys
import time
from pathlib import Path
from statistics import median

sys.path[:0] = [str(folder) for folder in (Path(__file__).parents[1] / "tests/support").iterdir()]

from searched_worlds import World, grid  # noqa: E402  it lies there

_DECISIONS = 25


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--points", default="100,1000,10000")
    for count in map(int, parser.parse_args().points.split(",")):
        print(_line(count), flush=True)


def _line(count: int) -> str:
    world = World(grid(batches=tuple(range(1, count // 4 + 1)), repeats=1))
    by_id = {one.trial_id: one for one in world.placements}
    began = time.process_time()
    search = world.started()
    started = time.process_time() - began
    search.next_trial(lambda _: "")  # imports scikit-learn
    seconds, clock = [], []
    for _ in range(_DECISIONS):
        began, at = time.process_time(), time.perf_counter()
        trial_id = search.next_trial(lambda _: "")
        seconds.append(time.process_time() - began)
        clock.append(time.perf_counter() - at)
        if trial_id is None:
            break
        search.start(trial_id)
        search.end(world.outcome(by_id[trial_id]))
    return (
        f"{count:>6,} points: start {started:.2f} s; {len(seconds)} decisions: median "
        f"{median(seconds):.3f} s ({median(clock):.3f}), at most {max(seconds):.3f} s ({max(clock):.3f})"
    )


if __name__ == "__main__":
    main()
