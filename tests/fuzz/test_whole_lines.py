"""Bad command lines and environment variables, through the whole command."""

from pathlib import Path
from typing import Any

import pytest
from commands_fuzzed import BASE, planned
from hostile_values import many, scalars, texts
from hypothesis import assume, example, given
from hypothesis import strategies as st
from session_cache import cache  # noqa: F401  a fixture

KEYS = (
    *("steps", "seed", "num_workers", "num_hosts", "global_batch_size", "outputs", "data_folder"),
    *("workload_path", "_target_", "+_target_", "sweep._target_", "hydra.run.dir", "hydra/launcher"),
    *(
        "sweep",
        "+sweep",
        "sweep.name",
        "sweep.repeats",
        "sweep.order",
        "sweep.shuffle_seed",
        "sweep.baseline",
    ),
    *(
        "sweep.include",
        "sweep.exclude",
        "sweep.common",
        "sweep.grid",
        "+sweep.grid.seed",
        "~sweep.grid.device",
    ),
    *("workload", "trainer", "device", "precision", "data.source", "workload.filters", "workload.units"),
    *("devices", "+sweep.grid.devices"),
    *(
        "trainer.python",
        "trainer.start_method",
        "measure.target",
        "measure.min_blocks",
        "measure.steps_per_block",
    ),
    *(
        "executor",
        "executor.run_seconds",
        "cluster",
        "cluster.address",
        "cluster.missing_device",
        "pools",
        "prices",
    ),
    *(
        "prices.provisioning",
        "prices.billing_seconds",
        "prices.this_host",
        "prices.confirm_spot",
        "prices.regions",
    ),
    *(
        "tracking",
        "tracking.uri",
        "retry.oom",
        "retry.preempted",
        "checkpoint.path",
        "checkpoint.every_seconds",
    ),
    *("report.goal", "report.deadline_hours", "report.budget_usd", "report.images", "report.source"),
    *("report.samples", "report.epochs"),
    *(
        "+hydra.callbacks.x._target_",
        "hydra.searchpath",
        "++steps",
        "~steps",
        "steps@x",
        "workload@device",
        "a.b.c",
    ),
)
FLAGS = (
    *("--all", "--json", "-m", "--multirun", "--cfg", "job", "--cfg=job", "--package", "--package=x"),
    *("--help", "-h", "--hydra-help", "--info", "--info=all", "--shell-completion", "--version", "--vers"),
    *("--experimental-rerun=x", "--config-dir=/", "--config-name=x", "--run", "--", "-", "-p", "--resolve"),
    *("run", "predict", "cluster"),
)
VARIABLES = (
    *("ORCHESTRATOR_CACHE", "ORCHESTRATOR_WORKLOAD_PATH", "ORCHESTRATOR_XLA_PYTHON", "XDG_CACHE_HOME"),
    *("HOME", "KERAS_HOME", "TFDS_DATA_DIR", "COLUMNS", "LINES", "TERM", "NO_COLOR", "TZ", "TMPDIR"),
    *(
        "CUDA_VISIBLE_DEVICES",
        "TPU_ACCELERATOR_TYPE",
        "MLFLOW_TRACKING_URI",
        "RAY_ADDRESS",
        "HYDRA_FULL_ERROR",
        "PIP_INDEX_URL",
    ),
)
CACHES = ("ORCHESTRATOR_CACHE", "XDG_CACHE_HOME", "HOME")
WORDS = st.one_of(
    st.builds("{}={}".format, st.sampled_from(KEYS), st.one_of(scalars, texts)),
    st.builds("{}={}".format, st.sampled_from(KEYS), st.lists(st.integers() | st.booleans(), max_size=3)),
    st.sampled_from(FLAGS),
    texts,
)

SETTINGS = st.one_of(texts, st.sampled_from(("0", "1", "-1", "/dev/null")))


@many(160)
@given(words=st.lists(WORDS, min_size=1, max_size=3))
@example(words=["outputs=a\x00b"])
@example(words=["steps=${seed}", "seed=${steps}"])
@example(words=["sweep.name=../../x"])
@example(words=["--cfg", "job", "--package", "nothing"])
@example(words=["device=[cpu,t4],[cpu]"])
@example(words=["devices=[cpu,[t4]]", "device=cpu"])
@example(words=["workload_path=~nobody-here/x"])
@example(words=["workload_path=" + "x" * 5000])
@example(words=["data_folder=" + "x" * 5000])
@example(words=["trainer.python=" + "x" * 5000])
def test_any_command_line_is_planned_or_refused(
    tmp_path_factory: pytest.TempPathFactory, words: list[str]
) -> None:
    planned([*BASE, *words], folder=_empty(tmp_path_factory))


@many(80)
@given(variables=st.dictionaries(st.sampled_from(VARIABLES), SETTINGS, min_size=1, max_size=3))
@example(variables={"ORCHESTRATOR_CACHE": "x" * 5000})
@example(variables={"ORCHESTRATOR_WORKLOAD_PATH": "~nobody-here"})
@example(variables={"ORCHESTRATOR_WORKLOAD_PATH": "~"})
@example(variables={"COLUMNS": "0"})
@example(variables={"COLUMNS": "9" * 30})
def test_any_environment_is_planned_in_or_refused(
    tmp_path_factory: pytest.TempPathFactory, variables: dict[str, str]
) -> None:
    assume(not any("\x00" in value or _is_lone(value) for value in variables.values()))
    # rich 14 takes "²" and 5,000 digits for a width, and fails as it is imported: no terminal says so
    widths = [variables.get(name, "0") for name in ("COLUMNS", "LINES")]
    assume(all(len(width) < 50 and width != "²" for width in widths))
    elsewhere = tmp_path_factory.getbasetemp() / "elsewhere"  # where data is prepared, and nowhere else
    inside = {name: f"{elsewhere}/{value}" for name, value in variables.items() if name in CACHES}
    planned(BASE, folder=_empty(tmp_path_factory), variables={**variables, **inside})


def _is_lone(text: str) -> bool:
    """A surrogate that stands for no byte: no environment can hold it."""
    try:
        text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return True
    return False


def _empty(factory: Any) -> Path:
    folder = factory.getbasetemp() / "here"
    folder.mkdir(exist_ok=True)
    return folder
