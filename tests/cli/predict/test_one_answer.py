"""Report, plan, `predict advise` and MLflow's note give the same answer from the same records."""

import io
import re
import shlex
from dataclasses import replace

import pytest
from builders import placement, record, train_result
from rich.console import Console

pytest.importorskip("mlflow", reason="MLflow is not installed")

from mlflow import MlflowClient

from orchestrator.analysis.recommendation.answer.summary import format_sentence
from orchestrator.commands import sweep as verbs
from orchestrator.config.loader import devices_named, load
from orchestrator.core.estimate import Refusal
from orchestrator.core.result import Failure
from orchestrator.core.trial_spec import trial_id
from orchestrator.extensions.mlflow_tracking.mlflow_store import MlflowStore
from orchestrator.extensions.mlflow_tracking.notes import NOTE_TAG
from orchestrator.extensions.predictions.advise import recommend_settings
from orchestrator.extensions.predictions.memory_need import count_memory_need
from orchestrator.extensions.predictions.predict_points import predict_points
from orchestrator.pipeline.components import build_price_book
from orchestrator.pipeline.tracking import build_outline, logged
from orchestrator.plan.pricing import priced
from orchestrator.record.ledger import Ledger
from workloads.registry import workload

pytestmark = pytest.mark.filterwarnings(  # mlflow 3.17 uses what SQLAlchemy 2.1 deprecates
    "ignore:The ``noload`` loader strategy is deprecated:DeprecationWarning"
)

VGG = (
    "+sweep=single",
    "workload=vgg16",
    "workload.image_size=64",
    "data.source=synthetic",
    "trainer=torch_ddp",
    "precision=fp32",
    "steps=100",
)
TEXT = (
    "+sweep=single",
    "workload=imdb_bilstm",
    "workload.sequence_length=2",
    "data.source=synthetic",
    "trainer=torch_ddp",
    "steps=100",
)
"""Nothing is predicted of it: it has fewer operations than all that was measured."""

GPUS = "device=t4,v100"
DIVERGED = "diverged"
KEPT = {"kept price": {"v100": 0.01}}
"""Case -> device -> dollars an hour that its records were kept with, where these are not today's."""

REPEATS = "sweep.repeats=5"


def times(**seconds):
    """Device -> seconds of a step; repeats lie 0.2% apart."""

    def of(trial):
        one = seconds.get(trial.device)
        return None if one is None else one * (1 + 0.002 * trial.repeat)

    return of


def by_batch(trial):
    """Larger batches take longer steps and fewer of them."""
    return 0.02 * trial.global_batch_size**0.5 * (1 + 0.002 * trial.repeat)


def diverging(trial):
    """The V100 is faster, and diverges."""
    return DIVERGED if trial.device == "v100" else 0.3


def of_one_trainer(trial):
    """Sweep in which another trainer was not measured."""
    return 0.3 if trial.trainer == "torch_ddp" else None


CASES = {
    "diverged": ((*VGG, GPUS, REPEATS), diverging, "settled", "t4"),
    "partial": (
        (*VGG, "device=t4", "trainer=torch_ddp,tensorflow", REPEATS),
        of_one_trainer,
        "not settled",
        "t4",
    ),
    "kept price": (
        (*VGG, GPUS, REPEATS, "report.goal=cheapest"),
        times(t4=0.11, v100=0.10),
        "settled",
        "v100",
    ),
    "settled": ((*VGG, GPUS, REPEATS), times(t4=0.5, v100=0.1), "settled", "v100"),
    "tie": ((*VGG, GPUS, REPEATS), times(t4=0.3, v100=0.3003), "tie", None),
    "predicted": ((*VGG, GPUS, REPEATS), times(t4=0.3), "not settled", None),
    "cheapest": ((*VGG, GPUS, REPEATS, "report.goal=cheapest"), times(t4=0.11, v100=0.10), "settled", "t4"),
    "deadline": (
        (*VGG, GPUS, REPEATS, "report.goal=cheapest", "report.samples=100000", "report.deadline_hours=0.1"),
        times(t4=0.30, v100=0.10),
        "settled",
        "v100",
    ),
    "best": ((*VGG, GPUS, REPEATS, "report.goal=best"), times(t4=0.5, v100=0.1), "tie", None),
    "batch": ((*VGG, "device=t4", "global_batch_size=16,256", REPEATS), by_batch, "settled", "batch 256"),
    "refused": ((*TEXT, GPUS, REPEATS), times(t4=0.3), "not settled", "t4"),
}


@pytest.fixture(autouse=True)
def working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def keep_records(settings, estimate_seconds, *, usd_per_hour=None):
    """Measure the trials of a sweep for which there are seconds, and keep their records in its ledger."""
    plan = verbs.plan(settings, console=Console(quiet=True)).plan
    price_book = build_price_book(settings)
    ledger = Ledger(settings.outputs / settings.sweep.name / "records.jsonl")
    trials = [replace(one.trial, repeat=repeat) for one in plan.asked for repeat in range(5)]
    for trial in {trial_id(one): one for one in trials}.values():
        step = estimate_seconds(trial)
        if step is None:
            continue
        if step == DIVERGED:
            failure = Failure(kind="diverged", message="the loss is not finite")
            where = placement(trial, kind="gpu")
            ledger.append(record(placement=where, sweep=settings.sweep.name, failure=failure))
            continue
        result = train_result(
            block_seconds=((10 * step,) * 6,),
            cpu_seconds=(60 * step,),
            steps=trial.steps,
            samples=trial.steps * trial.global_batch_size,
            training_seconds=trial.steps * step,
            quality={"accuracy": 0.9},
            held_out_samples=1000,
        )
        where = placement(trial, kind="gpu")
        kept = priced(record(placement=where, sweep=settings.sweep.name, result=result), price_book)
        usd = (usd_per_hour or {}).get(trial.device)
        if usd is not None:
            kept = replace(kept, price=replace(kept.price, node_usd_per_hour=usd))
        ledger.append(kept)


@pytest.mark.slow_cases("diverged")
@pytest.mark.more_except("partial")
@pytest.mark.parametrize("name", CASES)
def test_it_is_one_answer(name, working_directory):
    words, estimate_seconds, state, chosen = CASES[name]
    settings = load(
        [*words, f"tracking.uri=sqlite:///{working_directory}/mlflow.db"], working_directory=working_directory
    )
    keep_records(settings, estimate_seconds, usd_per_hour=KEPT.get(name))
    outcome = verbs.report(settings, console=Console(file=io.StringIO()))
    (reported,) = outcome.findings.recommendations
    assert reported.state == state, format_sentence(reported)
    assert chosen is None or chosen in reported.chosen

    (planned,) = verbs.plan(settings, console=Console(quiet=True)).recommendations
    assert planned == reported

    (said,) = recommend_settings(words, confidence=reported.confidence, working_directory=working_directory)
    assert (said.state, said.chosen, set(said.tied)) == (reported.state, reported.chosen, set(reported.tied))
    assert said.winner.setting == reported.winner.setting
    chances = {one.setting: one.chance for one in reported.standings}
    assert {one.setting: one.chance for one in said.standings} == pytest.approx(chances, abs=0.02)

    store = MlflowStore(settings.tracking_uri)
    store.begin(build_outline(settings, outcome.records, None))
    store.sync(logged(outcome.records, None, settings.objective))
    store.finish(outcome.files)
    note = note_in(settings)
    page = outcome.report.read_text(encoding="utf-8")
    for text in (note.replace("\\", ""), page):
        assert reported.basis in text
        for value in filter(None, (reported.chosen, *reported.tied)):
            assert value in text
    shown = " ".join(note.replace("\\", "").replace("`", "").split())  # the command is code there
    assert format_sentence(reported).replace("`", "") in shown


def test_what_spot_machines_cost_is_one_answer(working_directory):
    words = [*VGG, GPUS, REPEATS, "report.samples=10000000", "prices.interruptions_per_day=[1,8]"]
    settings = load(
        [*words, f"tracking.uri=sqlite:///{working_directory}/mlflow.db"], working_directory=working_directory
    )
    keep_records(settings, times(t4=0.3))
    outcome = verbs.report(settings, console=Console(file=io.StringIO()))
    (reported,) = outcome.findings.recommendations
    (told,) = re.findall(r"As a spot machine: .+? of a machine\b", format_sentence(reported))
    assert told.endswith(" Stated: 1 to 8 interruptions a day of a machine")
    (planned,) = verbs.plan(settings, console=Console(quiet=True)).recommendations
    (advice,) = recommend_settings(words, confidence=reported.confidence, working_directory=working_directory)
    assert told in format_sentence(planned)
    assert "As a spot machine: " in format_sentence(advice)
    other = "known for g4dn.xlarge in aws us-east-1. As a spot machine (g4dn.xlarge in aws us-east-2): "
    assert other in format_sentence(advice)
    assert told in outcome.report.read_text(encoding="utf-8")


def test_a_device_that_the_step_may_not_fit_is_one_answer(working_directory):
    """A faster device has room for the least bytes, and not for all that such a step may take."""
    need = count_memory_need(
        workload("vgg16", {"image_size": 64}),
        device=devices_named(working_directory)["t4"],
        precision="fp32",
        replicas=1,
        global_batch_size=64,
    )
    file = working_directory / "conf/device/small.yaml"
    file.parent.mkdir(parents=True)
    room = round(1.1 * need.least_bytes + need.added_bytes)
    file.write_text(f"defaults: [v100, _self_]\nname: small\nmemory_bytes: {room}\n")
    words = [*VGG, "device=t4,small", REPEATS, "tracking=none", "compile=off"]
    settings = load(words, working_directory=working_directory)
    keep_records(settings, times(t4=0.3))
    (reported,) = verbs.report(settings, console=Console(file=io.StringIO())).findings.recommendations
    (planned,) = verbs.plan(settings, console=Console(quiet=True)).recommendations
    (advice,) = recommend_settings(words, confidence=reported.confidence, working_directory=working_directory)
    assert planned == reported
    for one in (reported, advice):
        assert (one.state, one.winner.setting) == ("not settled", "t4, torch_ddp, fp32")
        assert [(left.setting, left.reason) for left in one.left_out] == [
            ("small, fp32", "its memory is tight")
        ]
    (shown,) = (
        one for one in predict_points(words, working_directory=working_directory) if one.memory.is_tight
    )
    assert shown.point.device.name == "small"


@pytest.mark.parametrize(
    ("words", "chosen", "instance"),
    [
        ([], "t4", "g4dn.xlarge"),
        (["prices=gcp"], "v100", "n1-standard-8+1xV100"),
        (["prices.sellers=[gcp]"], "v100", "n1-standard-8+1xV100"),
        (["prices.provisioning=spot"], "t4", "g4dn.xlarge"),
        (["prices.provisioning=spot", "prices.sellers=[gcp]"], "v100", "n1-standard-8+1xV100"),
        (["prices.own={t4: 0}"], "t4", "1 x t4"),
        (["prices.own={t4: 0, v100: 0}"], "v100", "1 x v100"),
    ],
)
def test_the_cheapest_setting_changes_with_the_sellers_and_is_one_answer(
    words, chosen, instance, working_directory
):
    every = [*VGG, GPUS, REPEATS, "report.goal=cheapest", "tracking=none", *words]
    settings = load(every, working_directory=working_directory)
    keep_records(settings, times(t4=0.45, v100=0.10))
    outcome = verbs.report(settings, console=Console(file=io.StringIO()))
    (reported,) = outcome.findings.recommendations
    assert chosen in reported.chosen
    assert reported.winner.price.instance == instance
    (planned,) = verbs.plan(settings, console=Console(quiet=True)).recommendations
    (advice,) = recommend_settings(every, confidence=reported.confidence, working_directory=working_directory)
    assert planned == reported
    assert (advice.chosen, advice.winner.price.instance) == (reported.chosen, instance)
    page = outcome.report.read_text(encoding="utf-8")
    assert f"{instance} " in page
    assert ("Elsewhere Standard_NC4as_T4_v3 on demand in azure" in page) == (words == [])


@pytest.mark.parametrize(
    "words",
    [
        ("workload=llama_style", "workload.size=tiny", "sharding=full", "trainer.compile=on"),
        ("workload=resnet18", "workload.image_size=32", "micro_batch_size=8"),
        ("workload=mnist_cnn", "activation_checkpointing=full"),
    ],
)
def test_settings_that_no_trainer_trains_are_refused_by_plan_and_predict_alike(words, working_directory):
    every = ["+sweep=single", "device=v100", "trainer=torch_ddp", "precision=fp16", *words]
    settings = load([*every, "tracking=none", "compile=off"], working_directory=working_directory)
    (skipped,) = verbs.plan(settings, console=Console(quiet=True)).plan.skipped
    (prediction,) = predict_points(every, working_directory=working_directory)
    assert isinstance(prediction.step, Refusal)
    assert prediction.step.reason == skipped.reason


def test_a_setting_is_answered_beside_one_that_no_trainer_trains(working_directory):
    words = ["workload=llama_style", "workload.size=tiny", "device=v100", "precision=fp16", "sharding=full"]
    found = predict_points([*words, "trainer.compile=off,on"], working_directory=working_directory)
    refused = [one.step for one in found if isinstance(one.step, Refusal)]
    assert len(found) == 2
    assert [one.reason.startswith("sharded weights are not compiled") for one in refused].count(True) == 1


@pytest.mark.parametrize("name", ["tie", "predicted"])
def test_the_command_that_it_gives_runs_trials_of_these_settings(name, working_directory):
    words, estimate_seconds, _, _ = CASES[name]
    settings = load([*words, "tracking=none"], working_directory=working_directory)
    keep_records(settings, estimate_seconds)
    preview = verbs.plan(settings, console=Console(quiet=True))
    (found,) = preview.recommendations
    *start, sweep = shlex.split(found.next_step.command)[:4]
    assert (start, sweep) == (["python", "-m", "orchestrator"], "+sweep=single")
    given = shlex.split(found.next_step.command)[3:]
    asked = verbs.plan(
        load([*given, "tracking=none"], working_directory=working_directory),
        console=Console(quiet=True),
    ).plan
    known = {trial_id(replace(one.trial, repeat=0)) for one in preview.plan.asked}
    assert {trial_id(replace(one.trial, repeat=0)) for one in asked.asked} <= known
    devices = {one.trial.device for one in asked.asked}
    assert devices == ({"v100"} if name == "predicted" else {"t4", "v100"})


def note_in(settings):
    client = MlflowClient(settings.tracking_uri)
    experiments = [one.experiment_id for one in client.search_experiments()]
    (parent,) = client.search_runs(experiments, "tags.role = 'sweep'")
    return parent.data.tags[NOTE_TAG]
