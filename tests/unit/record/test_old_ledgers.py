"""Ledgers that earlier versions wrote stay readable, and their trials stay cached.

`ledgers/before_the_move.jsonl` was written by version 0.1.0 on 2026-11-23, before its files and types were
renamed: a measured, a rehearsed and a failed trial of `noop`, and a measured trial of `torch_ddp` with two
workers. Only the host name was replaced.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from plan_builders import environment, planned

from orchestrator.config.loader import load
from orchestrator.core import codec
from orchestrator.core.device import Node
from orchestrator.core.inventory import of_host
from orchestrator.core.result import TrialRecord
from orchestrator.core.sweep import Sweep
from orchestrator.core.trial_spec import trial_id
from orchestrator.plan.trial_specs import data_needed
from orchestrator.record.ledger import Ledger
from orchestrator.train.registry import trainers

LEDGER = Path(__file__).with_name("ledgers") / "before_the_move.jsonl"
WORDS = ("+sweep=smoke", "precision=fp32", "sweep.include=[]", "data.source=synthetic", "executor=inline")
COMMANDS = (
    ("trainer=noop", "device=cpu,t4"),
    ("trainer=torch_ddp", "steps=100", "num_workers=2"),
    ("trainer=noop", "seed=7"),
)
"""Overrides of the commands that wrote the ledger."""


@pytest.fixture
def records() -> Sequence[TrialRecord]:
    """Records of the old ledger."""
    return Ledger(LEDGER).records()


def test_every_record_of_an_old_ledger_is_read(records: Sequence[TrialRecord]) -> None:
    assert [(record.spec.trainer, record.provenance, record.failure is None) for record in records] == [
        ("noop", "measured", True),
        ("noop", "rehearsed", True),
        ("noop", "measured", False),
        ("torch_ddp", "measured", True),
    ]


LATER_TIMINGS = {"min_warmup_seconds": 2.0, "min_block_seconds": 0.5}
"""Fields of a protocol that are newer than the ledger, at their defaults."""

LATER_MEMORY_SETTINGS = {"micro_batch_size": 0, "activation_checkpointing": "none", "sharding": "none"}
"""Settings of a trial's memory, at their defaults."""

LATER_FIELDS = {"memory": None, "compiled": None, "pruning": None, "epoch_samples": None}
"""The same of a record."""

LATER_RESULT_FIELDS: dict[str, int | list[str] | dict[str, str] | None] = {
    "unchecked": [],
    "run_seconds": [],
    "block_cpu_seconds": [],
    "core_wait_seconds": [],
    "busy_core_seconds": [],
    "read_files": {},
    "num_checkpoints": 0,
    "tokens_per_sample": None,
}
"""The same of a result."""


LATER_PRICE_FIELDS = {
    "least_billing_seconds": None,
    "start_seconds": None,
    "interruptions_per_day": None,
    "other_node_usd_per_hour": None,
    "seller": None,
    "unused_devices": 0,
    "elsewhere": [],
    "is_reserved": False,
}
"""The same of a price."""


def test_an_old_record_is_written_as_it_was_read_with_defaults_of_later_fields(
    records: Sequence[TrialRecord],
) -> None:
    lines = [json.loads(line) for line in LEDGER.read_text().splitlines()]
    for line in lines:
        line |= LATER_FIELDS
        if line["price"] and "reason" not in line["price"]:
            line["price"] |= LATER_PRICE_FIELDS
        for result in (line["result"], (line["failure"] or {}).get("refused")):
            if result is not None:
                result |= LATER_RESULT_FIELDS
        for spec in (line["spec"], line["placement"]["trial"]):
            spec["timing"] |= LATER_TIMINGS
            spec["memory_settings"] = LATER_MEMORY_SETTINGS
    assert [json.loads(codec.to_json(record)) for record in records] == lines


def test_the_id_of_an_old_trial_is_still_that_of_its_spec(records: Sequence[TrialRecord]) -> None:
    assert [trial_id(record.spec) for record in records] == [record.trial_id for record in records]


def test_trials_of_an_old_ledger_are_cached_and_its_timeout_runs_again(
    records: Sequence[TrialRecord],
) -> None:
    points = [
        point
        for command in COMMANDS
        for point in load([*WORDS, *command], working_directory=Path("/nowhere")).sweep.points
    ]
    data = data_needed(Sweep(name="smoke", points=tuple(points), repeats=1))
    plan = planned(
        *points,
        inventory=of_host(Node(name="host", cpus=2, cpu_model="Intel(R) Xeon(R) Processor")),
        trainers=trainers(),
        environments={name: environment() for name in trainers()},
        start_methods=dict.fromkeys(trainers(), "auto"),
        data_ids=dict.fromkeys(data, "synthetic:mnist-v1:1"),
        train_samples={point.workload: 4_000 for point in points},
        records=records,
        code_sha256=records[0].environment["code_sha256"],
    )
    finished = {record.trial_id for record in records if record.failure is None}
    timed_out = {record.trial_id for record in records if record.failure is not None}
    assert {trial.trial_id for trial in plan.cached} == finished
    assert {placement.trial_id for placement in plan.placements} == timed_out
