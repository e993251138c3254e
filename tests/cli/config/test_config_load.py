"""A command line and the shipped config files become settings."""

from pathlib import Path

import pytest
from plan_builders import planned
from repository import ROOT

from orchestrator.config.loader import load
from orchestrator.core.errors import ConfigError
from orchestrator.core.objective import Objective
from orchestrator.core.settings import Checkpointing, TrainerSettings

SWEEPS = ", ".join(sorted(path.stem for path in (ROOT / "conf/sweep").glob("*.yaml")))


SMOKE = "+sweep=smoke"
ONE = ("device=cpu", "trainer=torch_ddp", "precision=fp32")


def loaded(*words, working_directory=Path("/nowhere")):
    return load(words, working_directory=working_directory)


def test_a_sweep_alone_is_a_whole_command(tmp_path):
    settings = loaded(SMOKE, working_directory=tmp_path)
    assert (settings.sweep.name, settings.executor, settings.cluster_address) == ("smoke", "ray", "local")
    assert settings.tracking_uri == "sqlite:///mlflow.db"
    assert settings.outputs == tmp_path / "outputs"
    assert (settings.retries["preempted"], settings.retries["worker_lost"], settings.retries["oom"]) == (
        10,
        1,
        0,
    )
    assert set(settings.trainers) == {"tensorflow", "torch_ddp", "torch_xla"}
    assert settings.trainers["torch_ddp"] == TrainerSettings(python=None, start_method="auto")


def test_a_folder_of_the_users_own_data_is_found_from_the_working_directory(tmp_path):
    assert loaded(SMOKE).data_folder is None
    settings = loaded(SMOKE, "data_folder=aptos", working_directory=tmp_path)
    assert settings.data_folder == tmp_path / "aptos"


def test_a_batch_divides_over_the_workers_unless_the_trainer_deals_it_out():
    words = (SMOKE, *ONE, "sweep.include=[]", "trainer=unequal_ddp", "num_workers=3")
    (point,) = loaded(*words, "global_batch_size=64").sweep.points
    assert point.deals_batches
    with pytest.raises(
        ConfigError, match=r"^global_batch_size=2 is below 3 replicas \(3 x cpu\); each needs"
    ):
        loaded(*words, "global_batch_size=2")


@pytest.mark.more_except("0.9", "workload")
@pytest.mark.parametrize("target", [0.9, 1, "workload", None])
def test_a_target_is_a_number_a_word_or_null(target):
    said = "null" if target is None else target
    (point,) = loaded(SMOKE, *ONE, "sweep.include=[]", f"measure.target={said}").sweep.points
    assert point.timing.target == target


def test_values_of_the_command_line_replace_values_of_files():
    settings = loaded(
        *(SMOKE, "executor=inline", "tracking=none", "cluster.missing_device=skip", "retry.oom=2"),
        *("executor.run_seconds=5", "sweep.repeats=2", "sweep.name=mine", "outputs=/elsewhere"),
        "sweep.shuffle_seed=7",
        *("device=cpu", "trainer=torch_ddp", "precision=bf16,fp32", "steps=90", "workload.filters=[4,4]"),
    )
    assert (settings.executor, settings.tracking_uri, settings.missing_device) == ("inline", None, "skip")
    assert (settings.retries["oom"], settings.deadlines.run_seconds, settings.outputs) == (
        2,
        5.0,
        Path("/elsewhere"),
    )
    assert (settings.sweep.name, settings.sweep.repeats, settings.sweep.shuffle_seed) == ("mine", 2, 7)
    points = settings.sweep.points
    assert {point.steps for point in points} == {90}
    assert {tuple(point.workload_options.items()) for point in points} == {(("filters", (4, 4)),)}
    # four times two combinations come to two points with one worker and two with two
    assert sorted((point.precision, point.num_workers) for point in points) == [
        ("bf16", 1),
        ("bf16", 2),
        ("fp32", 1),
        ("fp32", 2),
    ]


def test_a_knob_is_for_those_trainers_that_have_it_and_its_default_is_not_written_down():
    points = loaded(SMOKE, "precision=fp32", "device=cpu", "trainer.strategy=auto,mirrored").sweep.points
    options = [(point.trainer, dict(point.trainer_options)) for point in points if point.num_workers == 1]
    assert options == [
        ("tensorflow", {}),
        ("tensorflow", {"strategy": "mirrored"}),
        ("torch_ddp", {}),
        ("torch_xla", {}),
    ]
    assert "trainer.strategy" not in points[-1].label


def test_the_interpreter_of_a_trainer_comes_from_the_environment_or_the_line(monkeypatch):
    monkeypatch.setenv("ORCHESTRATOR_XLA_PYTHON", "/xla/bin/python")
    settings = loaded(SMOKE, "trainer=torch_xla", "trainer.start_method=spawn", "device=cpu")
    assert settings.trainers == {"torch_xla": TrainerSettings(python="/xla/bin/python", start_method="spawn")}


def test_interpolations_see_what_all_points_share():
    points = loaded(SMOKE, *ONE, "seed=${steps}", "steps=150").sweep.points
    assert {point.seed for point in points} == {150}


@pytest.mark.more_except("words0", "words1-message1")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), f"no sweep is named; add +sweep=NAME with one of: {SWEEPS}"),
        (("+sweep=smok",), f"unknown sweep 'smok'; did you mean 'smoke'? known: {SWEEPS}"),
        ((SMOKE, "executor=slurm"), "unknown executor 'slurm'; known: inline, ray"),
        (
            (SMOKE, "precision=fp32,fp23"),
            "unknown precision 'fp23'; did you mean 'fp32'? known: bf16, fp16, fp32, fp8, tf32, tpu_default",
        ),
        (
            (SMOKE, "sweep.exclude=[{precision:bf61}]"),
            "unknown precision 'bf61'; did you mean 'bf16'? known: bf16, fp16, fp32, fp8, tf32, tpu_default",
        ),
        (
            (SMOKE, "sweep.nam=x"),
            "unknown key 'sweep.nam'; did you mean 'sweep.name'? known: sweep.baseline, "
            "sweep.common, sweep.exclude, sweep.grid, sweep.include, sweep.name, sweep.order, sweep.repeats, "
            "sweep.shuffle_seed",
        ),
        (
            (SMOKE, *ONE, "measure.max_block=3"),
            "unknown key 'measure.max_block'; did you mean 'measure.max_blocks'? known: "
            "measure.calibrate, measure.evaluate_every_steps, measure.interval_fraction, measure.max_blocks, "
            "measure.max_warmup_steps, measure.min_block_seconds, measure.min_blocks, "
            "measure.min_warmup_seconds, measure.steps_per_block, measure.target, measure.warmup_steps",
        ),
        (
            (SMOKE, *ONE, "seed=1,2", "num_workers=${seed}"),
            "a value is given as ${seed}, and seed differs between the points of this sweep; "
            "give the value itself",
        ),
        (
            ("+sweep=single", "devices=[t4,cpu]", "outputs=on_${device.name}"),
            "a value is given as ${device.name}, and device cannot be set together with devices; "
            "give the value itself",
        ),
        (
            ("+sweep=single", "devices=[t4,cpu]", "outputs=of_${num_workers}"),
            "a value is given as ${num_workers}, and num_workers cannot be set together with devices; "
            "give the value itself",
        ),
        (
            (SMOKE, *ONE, "trainer.python=a,b"),
            "trainer.python and trainer.start_method hold for the whole command; "
            "this sweep starts torch_ddp in two ways",
        ),
        (
            (SMOKE, *ONE, "num_workers=2", "global_batch_size=63"),
            "global_batch_size=63 does not divide over 2 replicas (2 x cpu); 62 or 64 would",
        ),
        (
            (SMOKE, *ONE, "num_workers=2", "global_batch_size=64", "micro_batch_size=12"),
            "micro_batch_size=12 does not divide the 32 samples of a replica; 8 would",
        ),
        (
            (SMOKE, *ONE, "global_batch_size=64", "micro_batch_size=128"),
            "micro_batch_size=128 does not divide the 64 samples of a replica; 64 would",
        ),
        ((SMOKE, *ONE, "micro_batch_size=-1"), "micro_batch_size=-1 must not be negative"),
        ((SMOKE, *ONE, "micro_batch_size=some"), "micro_batch_size='some' must be a whole number"),
        (
            (SMOKE, *ONE, "activation_checkpointing=none,half"),
            "unknown activation_checkpointing 'half'; known: full, none, selective",
        ),
        ((SMOKE, *ONE, "sharding=half"), "unknown sharding 'half'; known: full, hybrid, none"),
        ((SMOKE, *ONE, "measure.calibrate=maybe"), "measure.calibrate='maybe' must be true or false"),
        ((SMOKE, *ONE, "seed=1,x"), "seed='x' must be a whole number"),
        ((SMOKE, *ONE, "workload.filters=8"), "workload.filters=8 must be a list"),
    ],
)
def test_a_mistake_is_one_line_with_what_is_possible(words, message):
    with pytest.raises(ConfigError) as raised:
        loaded(*words)
    assert str(raised.value) == message


def test_ten_thousand_points_of_one_line_are_each_decided_exactly_once():
    seeds = ",".join(map(str, range(1_250)))
    words = ("device=cpu,t4", "trainer=torch_ddp", "precision=fp32,bf16,fp16,tf32", f"seed={seeds}")
    sweep = loaded("+sweep=tpu_vs_gpu", "sweep.exclude=null", *words).sweep
    assert len(sweep.points) == len({point.name for point in sweep.points}) == 10_000
    found = planned(*sweep.points)
    assert len(found.placements) == len({placement.trial_id for placement in found.placements}) == 1_250 * 4
    assert len(found.skipped) == len({skipped_point.point for skipped_point in found.skipped}) == 1_250 * 4


def test_the_points_of_the_baseline_are_marked():
    sweep = loaded("+sweep=tpu_vs_gpu").sweep
    assert sweep.baseline == ("device", "precision")
    assert {(point.device.name, point.precision) for point in sweep.points if point.is_baseline} == {
        ("cpu", "fp32")
    }
    assert sum(point.is_baseline for point in sweep.points) == 3


def test_a_command_line_chooses_another_baseline_or_none():
    other = loaded("+sweep=tpu_vs_gpu", "sweep.baseline={trainer: tensorflow}").sweep
    assert {point.trainer for point in other.points if point.is_baseline} == {"tensorflow"}
    none = loaded("+sweep=tpu_vs_gpu", "sweep.baseline=null", "device=t4").sweep
    assert (none.baseline, [point for point in none.points if point.is_baseline]) == ((), [])


def test_a_baseline_that_the_command_line_leaves_out_is_refused():
    with pytest.raises(ConfigError, match=r"sweep\.baseline: device='cpu' is not a point of this sweep"):
        loaded("+sweep=tpu_vs_gpu", "device=t4")


def test_images_are_made_where_they_are_asked_for():
    assert not loaded(SMOKE).images
    assert loaded(SMOKE, "report.images=true").images


def test_the_command_line_sets_the_objective_of_the_report():
    assert loaded(SMOKE).objective == Objective()
    words = ("report.goal=cheapest", "report.deadline_hours=2", "report.budget_usd=5", "report.quality=0.96")
    assert loaded(SMOKE, *words).objective == Objective(
        goal="cheapest", deadline_hours=2.0, budget_usd=5.0, quality=0.96
    )


def test_the_length_of_the_job_is_shown_on_the_command_line():
    assert loaded(SMOKE, "report.samples=200000").objective == Objective(samples=200_000)
    assert loaded(SMOKE, "report.epochs=3").objective == Objective(epochs=3.0)
    assert loaded(SMOKE, "report.samples=null", "report.epochs=0.5").objective == Objective(epochs=0.5)


@pytest.mark.more_except("many", "5 must")
@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("report.samples=many", "report.samples='many' must be a whole number"),
        ("report.samples=0.5", "report.samples=0.5 must be a whole number"),
        ("report.samples=-1", "report.samples=-1 must be a whole number from 1 to"),
        ("report.epochs=long", "report.epochs='long' must be a number"),
        ("report.epochs=nan", "report.epochs=nan must be above 0 and finite"),
        ("report.goal=chepest", "unknown report.goal 'chepest'; did you mean 'cheapest'?"),
        ("report.deadline=2", "unknown key 'report.deadline'; did you mean 'report.deadline_hours'?"),
        ("report.deadline_hours=soon", "report.deadline_hours='soon' must be a number"),
        ("report.deadline_hours=-1", "report.deadline_hours=-1.0 must be above 0 and finite"),
        ("report.images=png", "report.images='png' must be"),
        ("report=fast", "report='fast' must be"),
    ],
)
def test_a_wrong_objective_is_refused_in_one_line(word, message):
    with pytest.raises(ConfigError) as raised:
        loaded(SMOKE, word)
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


def test_checkpoints_lie_in_the_sweeps_folder_and_come_too_late_for_a_sweep_of_seconds(tmp_path):
    url = str(tmp_path / "outputs/smoke/checkpoints")
    settings = loaded(SMOKE, working_directory=tmp_path)
    assert settings.checkpointing == Checkpointing(every_seconds=300, grace_seconds=20, url=url)


@pytest.mark.parametrize(
    ("path", "url"),
    [("kept", "/nowhere/kept/smoke"), ("/kept", "/kept/smoke"), ("s3://b/c/", "s3://b/c/smoke")],
)
def test_another_place_for_checkpoints_has_a_folder_for_each_sweep(path, url):
    assert loaded(SMOKE, f"checkpoint.path={path}").checkpointing.url == url


@pytest.mark.parametrize(
    ("words", "url"),
    [((), None), (("record.path=s3://b/c/",), "s3://b/c/smoke"), (("record.path=gs://b",), "gs://b/smoke")],
)
def test_records_lie_in_a_bucket_too_where_one_is_named_in_a_folder_for_each_sweep(words, url):
    assert loaded(SMOKE, *words).archive_url == url


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (
            "record.path=kept",
            "record.path=kept is not a bucket; possible: gs://…, s3://…, or a folder: outputs=DIR",
        ),
        (
            "record.path='s3://me:hunter2@b'",
            "record.path has an '@'; user and password come from the environment",
        ),
        ("record.pth=1", "unknown key 'record.pth'; did you mean 'record.path'?"),
    ],
)
def test_a_place_for_records_that_is_wrong_is_one_line_without_a_password(word, message):
    with pytest.raises(ConfigError) as raised:
        loaded(SMOKE, word)
    assert str(raised.value).startswith(message)
    assert "hunter2" not in str(raised.value)


def test_checkpoints_can_be_switched_off_and_are_no_part_of_a_trials_identity():
    (usual, *_), (without, *_) = (
        loaded(SMOKE, *words).sweep.points for words in ((), ("checkpoint.every_seconds=null",))
    )
    assert usual == without
    assert loaded(SMOKE, "checkpoint.every_seconds=null").checkpointing is None


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("checkpoint.every_seconds=0", "checkpoint.every_seconds=0.0 must be above 0 and finite"),
        ("checkpoint.grace_seconds=inf", "checkpoint.grace_seconds=inf must be above 0 and finite"),
        ("checkpoint.every_seconds=often", "checkpoint.every_seconds='often' must be a number"),
        ("checkpoint.evry=1", "unknown key 'checkpoint.evry'; did you mean 'checkpoint.every_seconds'?"),
    ],
)
def test_a_checkpoint_setting_that_is_wrong_is_one_line(word, message):
    with pytest.raises(ConfigError) as raised:
        loaded(SMOKE, word)
    assert str(raised.value).startswith(message)


SLOW = "defaults: [cpu, _self_]\nname: cpu_slow\n"


def of_devices(devices, folder):
    (folder / "conf/device").mkdir(parents=True)
    (folder / "conf/device/cpu_slow.yaml").write_text(SLOW)
    return loaded("+sweep=single", "trainer=kernel_split", f"devices={devices}", working_directory=folder)


def test_devices_one_by_one_are_those_of_the_workers_in_their_order(tmp_path):
    settings = of_devices("[cpu_slow,cpu,cpu,cpu],[cpu,cpu_slow]", tmp_path)
    first, second = settings.sweep.points
    assert [device.name for device in first.devices] == ["cpu_slow", "cpu", "cpu", "cpu"]
    assert (first.num_workers, first.replicas, first.num_hosts) == (4, 4, None)
    assert (first.name, second.name) == (
        "mnist_cnn cpu_slow+cpu+cpu+cpu kernel_split fp32",
        "mnist_cnn cpu+cpu_slow kernel_split fp32",
    )
    assert {*settings.sweep.devices} == {"cpu", "cpu_slow"}


def test_devices_that_are_alike_are_one_device_so_many_times(tmp_path):
    (named,) = of_devices("[cpu,cpu]", tmp_path).sweep.points
    (counted,) = loaded("+sweep=single", "trainer=kernel_split", "device=cpu", "num_workers=2").sweep.points
    assert named == counted


@pytest.mark.more
def test_an_unknown_device_among_several_names_the_nearest_one(tmp_path):
    with pytest.raises(
        ConfigError, match=r"^unknown device 'cpu_slw'; did you mean 'cpu_slow'\? known: a100"
    ):
        of_devices("[cpu,cpu_slw]", tmp_path)


def test_devices_that_a_batch_does_not_divide_over_are_named(tmp_path):
    with pytest.raises(
        ConfigError, match=r"does not divide over 3 replicas \(cpu\+cpu_slow\+cpu\); 63 or 66"
    ):
        of_devices("[cpu,cpu_slow,cpu]", tmp_path)
