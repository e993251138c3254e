"""The jobs as a Hydra application, for hydra-ray-launcher. Nothing of ours is in it."""

import hydra
import job


@hydra.main(version_base=None, config_path=None, config_name=None)
def main(config):
    job.run(seed=config.seed, batch_size=config.batch_size)


if __name__ == "__main__":
    main()
