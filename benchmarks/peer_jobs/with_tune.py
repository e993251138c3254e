"""The jobs as a grid of Ray Tune, each trial a function in an actor of its own. Nothing of ours is in it.

    python with_tune.py BATCH_SIZES SEEDS

What an earlier run left in the folder STORE is restored, as Tune's guide to fault tolerance tells.
"""

import os
import sys

import job
import ray
from ray import tune

STORE = os.environ["STORE"]


def trainable(config):
    return job.run(seed=config["seed"], batch_size=config["batch_size"])


def fit(limited):
    """Run the grid, and exit with 1 if a trial failed."""
    ray.init(
        address="local", include_dashboard=False, log_to_driver=False, _temp_dir=os.environ["RAY_FOLDER"]
    )
    place = f"{STORE}/jobs"
    if tune.Tuner.can_restore(place):
        tuner = tune.Tuner.restore(place, limited, resume_errored=True, resume_unfinished=True)
    else:
        sizes, seeds = (int(size) for size in sys.argv[1].split(",")), range(int(sys.argv[2]))
        tuner = tune.Tuner(
            limited,
            param_space={
                "batch_size": tune.grid_search(list(sizes)),
                "seed": tune.grid_search(list(seeds)),
            },
            tune_config=tune.TuneConfig(max_concurrent_trials=1, reuse_actors=False),
            run_config=tune.RunConfig(name="jobs", storage_path=STORE, verbose=0),
        )
    sys.exit(1 if tuner.fit().errors else 0)


if __name__ == "__main__":
    fit(tune.with_resources(trainable, {"cpu": int(os.environ["THREADS"])}))
