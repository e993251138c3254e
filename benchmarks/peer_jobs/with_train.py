"""The jobs as a grid of Ray Tune, each trial a run of Ray Train with one worker. Nothing of ours is in it.

python with_train.py BATCH_SIZES SEEDS
"""

import job
import ray.train
from ray import tune
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer
from ray.tune.integration.ray_train import TuneReportCallback
from with_tune import STORE, fit


def worker(config):
    ray.train.report(job.run(seed=config["seed"], batch_size=config["batch_size"]))


def driver(config):
    TorchTrainer(
        worker,
        train_loop_config=config,
        scaling_config=ScalingConfig(num_workers=1, resources_per_worker={"CPU": 1}),
        run_config=RunConfig(
            name=tune.get_context().get_trial_id(), storage_path=STORE, callbacks=[TuneReportCallback()]
        ),
    ).fit()


if __name__ == "__main__":
    fit(tune.with_resources(driver, {"cpu": 1}))
