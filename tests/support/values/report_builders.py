"""Sweeps as a report meets them: records with their plan."""

from dataclasses import replace

from builders import placement, record, train_result, trial_spec
from price_builders import price

from orchestrator.core.estimate import Estimate, Forecast, Refusal, TrackRecord
from orchestrator.core.placement import Aim, Baseline, Cached, FullTraining, Plan, Skipped
from orchestrator.core.price import Unpriced
from orchestrator.core.result import Failure
from orchestrator.core.trial_spec import TimingSpec, trial_id

STANDIN = "standin:" + "1f2e3d4c5b6a7988" * 4
HOSTILE = "</script><img src=x onerror=\"document.title='hacked'\"><b>&lt;%{y}'"
HOSTILE_PRICE = price(
    **dict.fromkeys(("prices", "instance", "region", "provisioning", "source", "note"), HOSTILE)
)
PRICE = price(is_hypothetical=True)
TRAININGS = {name: FullTraining(epochs=15.0, train_samples=60_000) for name in ("mnist_cnn", HOSTILE)}
AIMS = {name: Aim(metric="accuracy", higher_is_better=True) for name in ("mnist_cnn", HOSTILE)}
QUALITY = {"tensorflow": 0.004, "torch_ddp": 0.003, "torch_xla": 0.005}
SECONDS = {"tensorflow": 0.014, "torch_ddp": 0.011, "torch_xla": 0.024}


def measured(
    trainer="torch_ddp",
    *,
    step_seconds=None,
    placed=None,
    versions=None,
    recorded=None,
    price=None,
    **changes,
):
    """A trial of 15 blocks whose step takes about as long as that framework's, 1% around the median.

    `placed` changes its placement, `recorded` its result, and `versions` what it ran with.
    """
    usual = {"trainer": trainer, "data": STANDIN, "steps": 300, "timing": TimingSpec()}
    spec = trial_spec(**{**usual, **changes})
    step_seconds = step_seconds or SECONDS.get(trainer, 0) * (0.8 if spec.precision == "bf16" else 1)
    blocks = tuple(10 * step_seconds * (0.99 + 0.02 * index / 14) for index in range(15))
    losses = tuple((step, round(2.3 / (1 + step / 18), 4)) for step in (1, *range(20, 301, 20)))
    result = train_result(
        block_seconds=(blocks,),
        losses=losses,
        steps=300,
        samples=19200,
        training_seconds=0.2 + 299 * step_seconds,
        cpu_seconds=(1.9 * sum(blocks),),
    )
    result = replace(result, **(recorded or {}))
    environment = {"orchestrator": "0.1.0", "python": "3.11.7", trainer: "2.9.0", **(versions or {})}
    return record(
        placement=placement(spec, **(placed or {})), result=result, environment=environment, price=price
    )


def rehearsed(trainer="torch_ddp", *, device="t4", failure=None, **changes):
    """Two steps on the CPU in place of a device that is not there."""
    spec = trial_spec(trainer=trainer, device=device, data=STANDIN, host_cpu=None, **changes)
    place = placement(spec, provenance="rehearsed", substitutions=(f"cpu for {device}", "gloo for nccl"))
    if failure:
        return record(placement=place, failure=failure, log_path="logs/0123456789abcdef/attempt_1")
    return record(placement=place, result=train_result(block_seconds=(), losses=((1, 2.3), (2, 2.2))))


def forecast(
    trainer="torch_ddp",
    *,
    device="t4",
    step_seconds=0.002,
    price=PRICE,
    source="a test",
    num_phases=1,
    **changes,
):
    """Build a forecast for a missing device: half to twice that step time as its interval, or a refusal."""
    spec = trial_spec(
        trainer=trainer, device=device, host_cpu=None, **{"data": STANDIN, "steps": 300, **changes}
    )
    if step_seconds is None:
        step = Refusal(reason=source, to_measure="it there")
    else:
        step = Estimate(low=step_seconds / 2, likely=step_seconds, high=2 * step_seconds, source=source)
    return Forecast(trial=spec, num_trials=1, step=step, price=price, num_phases=num_phases)


def repeats(trainer="torch_ddp", *, rates, **changes):
    """One measured trial for each rate in samples per second."""
    return [
        measured(trainer, repeat=index, step_seconds=64 / rate, **changes) for index, rate in enumerate(rates)
    ]


def in_turn(records, *, pause_after=None):
    """The records as one host makes them: one after the other, half a second apart.

    After `pause_after` of them the host rests for an hour.
    """
    now, timed = 1_790_000_000.0, []
    for index, each in enumerate(records):
        result = each.result
        seconds = 0.9 + (result.launch_seconds + result.training_seconds if result else 1.1)
        now += 3600 if index == pause_after else 0
        timed.append(replace(each, started_at=now, ended_at=now + seconds))
        now += seconds + 0.5
    return timed


def baseline_of(records, **values):
    """The baseline that those values of a spec name."""
    specs = [
        record.spec for record in records if all(getattr(record.spec, key) == values[key] for key in values)
    ]
    points = dict.fromkeys(trial_id(replace(spec, repeat=0)) for spec in specs)
    return Baseline(keys=tuple(values), points=tuple(points))


def plan_of(records, *, skipped=(), stale=None, baseline=None, forecasts=(), hindcasts=None, so_far=(0, 0)):
    """A plan that found those records in the ledger."""
    cached = tuple(
        Cached(trial=item.spec, trial_id=item.trial_id, provenance=item.provenance, stale=stale)
        for item in {record.trial_id: record for record in records}.values()
    )
    return Plan(
        sweep="example",
        placements=(),
        cached=cached,
        skipped=tuple(skipped),
        baseline=baseline,
        aims=AIMS,
        trainings=TRAININGS,
        forecasts=tuple(forecasts),
        hindcasts=hindcasts or {},
        track_record=TrackRecord(num_inside=so_far[0], num_measured=so_far[1]),
    )


def tpu_vs_gpu():
    """Three trainers, two precisions, five repeats on the CPU; a GPU and a TPU that are not there.

    One measurement failed at first, and in the middle the host did something else for an hour.
    """
    records = [
        measured(
            trainer,
            precision=precision,
            repeat=repeat,
            step_seconds=SECONDS[trainer] * speed + repeat * 1e-4,
            price=PRICE,
            recorded={"quality": {"accuracy": 0.962 + QUALITY[trainer] * speed + repeat * 1e-4}},
        )
        for trainer in SECONDS
        for precision, speed in (("fp32", 1.0), ("bf16", 0.8))
        for repeat in range(5)
    ]
    records += [rehearsed("torch_ddp", precision=name) for name in ("fp32", "fp16")]
    records += [rehearsed("torch_xla", device="tpu_v3_8")]
    records += [rehearsed("tensorflow", failure=Failure(kind="error", message="ValueError: 1 is not 3"))]
    lost = Failure(kind="worker_lost", message="rank 0 was killed")
    records[3:3] = [record(placement=records[3].placement, failure=lost, price=PRICE)]
    records[4] = replace(records[4], attempt=2)
    records = in_turn(records, pause_after=11)
    skipped = [
        Skipped(
            point=f"mnist_cnn cpu {trainer} fp16", reason="fp16 on a CPU is 65 to 200 times slower than fp32"
        )
        for trainer in SECONDS
    ]
    skipped += [Skipped(point="mnist_cnn t4 torch_ddp bf16", reason="t4 has no bf16 units")]
    forecasts = [
        *(forecast(trainer, source="fitted to T4") for trainer in ("torch_ddp", "tensorflow")),
        forecast(device="tpu_v3_8", step_seconds=None, source="no TPU was measured"),
    ]
    return records, plan_of(
        records,
        skipped=skipped,
        baseline=baseline_of(records, device="cpu", precision="fp32"),
        forecasts=forecasts,
    )


def hostile():
    """Every text that a record or a plan can hold is an attack."""
    options = {"trainer_options": {HOSTILE: HOSTILE}}
    names = {"workload": HOSTILE, "device": HOSTILE, "precision": HOSTILE}
    records = [
        measured(
            placed={"warnings": (HOSTILE,), "node": HOSTILE},
            price=HOSTILE_PRICE,
            host_cpu=HOSTILE,
            **names,
            **options,
        ),
        measured("torch_xla", price=Unpriced(reason=HOSTILE), host_cpu=HOSTILE, **names),
        rehearsed(HOSTILE, device=HOSTILE),
        rehearsed(HOSTILE, device=HOSTILE, precision="bf16", failure=Failure(kind="error", message=HOSTILE)),
    ]
    forecasts = [
        forecast(HOSTILE, source=HOSTILE, price=HOSTILE_PRICE, **names),
        forecast(HOSTILE, source=HOSTILE, step_seconds=None, price=Unpriced(reason=HOSTILE), **names),
    ]
    skipped = [Skipped(point=HOSTILE, reason=HOSTILE)]
    hindcasts = {records[0].trial_id: forecasts[0].step}
    return records, plan_of(records, skipped=skipped, stale=HOSTILE, forecasts=forecasts, hindcasts=hindcasts)
