"""Bad records, plans, checkpoints and messages: what is read back is whole, or refused in one line."""

import hashlib
import io
import json
from typing import Any

import numpy as np
from builders import record
from hostile_values import damaged, is_one_line, many, mutated, outcome, plain, texts
from hypothesis import example, given
from hypothesis import strategies as st
from report_builders import plan_of, tpu_vs_gpu

from orchestrator.analysis.findings import collect_findings
from orchestrator.analysis.metrics.definitions import collect_metrics
from orchestrator.core.codec import from_json, from_plain, to_json
from orchestrator.core.errors import RecordError
from orchestrator.core.placement import Plan
from orchestrator.core.result import TrialRecord
from orchestrator.extensions.mlflow_tracking.mlflow_run import load_points
from orchestrator.record.ledger_lines import parse_lines
from orchestrator.train.checkpoints.format import (
    ARRAYS,
    META,
    Checkpoint,
    Meta,
    TrainingProgress,
    read,
    read_meta,
)

RECORD = json.loads(to_json(record()))
PLAN = json.loads(to_json(tpu_vs_gpu()[1]))
PROGRESS = TrainingProgress(step=1, phase="training", samples=64, training_seconds=0.1)
LEDGER = "\n".join([to_json(record())] * 3).encode()


def _archive() -> bytes:
    with io.BytesIO() as file:
        np.savez_compressed(file, weights=np.arange(50.0), steps=np.array([3]))
        return file.getvalue()


ARRAYS_OF_A_CHECKPOINT = _archive()


@many(900)
@given(mutated(RECORD))
def test_a_record_with_anything_in_it_is_read_or_refused(changed: Any) -> None:
    with outcome(RecordError):
        assert isinstance(from_plain(TrialRecord, changed), TrialRecord)


@many(500)
@given(st.one_of(texts, plain.map(lambda value: json.dumps(value, allow_nan=True))))
@example("[" * 100_000)
@example('{"a":' * 100_000)
@example("9" * 5_000)
@example('"' + "x" * 10_000_000 + '"')
def test_any_text_is_a_record_or_refused(text: str) -> None:
    with outcome(RecordError):
        from_json(TrialRecord, text)


@many(200)
@given(mutated(PLAN))
def test_a_plan_with_anything_in_it_is_read_or_refused(changed: Any) -> None:
    with outcome(RecordError):
        from_plain(Plan, changed)


@many(250)
@given(st.lists(mutated(RECORD), min_size=1, max_size=3))
def test_mutated_records_give_a_report_or_are_refused(changed: list[Any]) -> None:
    with outcome(RecordError):
        records = [from_plain(TrialRecord, item) for item in changed]
        assert all(table.rows for table in collect_findings(records, plan_of(records)).tables)
        for record in records:
            collect_metrics(record)
            list(load_points(record, {}))


@many(500)
@given(damaged(LEDGER))
@example(b"[" * 100_000)
@example(b"9" * 5_000)
@example(b"\xff\xfe\n" * 10)
@example(b'{"schema_version": 1e999}')
def test_a_damaged_ledger_loses_no_line_that_is_whole(content: bytes) -> None:
    with outcome(RecordError):
        lines = parse_lines(content)
        assert len(lines.good) == len(lines.records)
        told = [*lines.good, *(line.text for line in lines.bad)]
        assert sorted(told) == sorted(word for word in content.split(b"\n") if word)
        assert all(is_one_line(line.cause) for line in lines.bad)


@many(150)
@given(content=st.one_of(st.binary(max_size=60), damaged(ARRAYS_OF_A_CHECKPOINT)))
def test_a_checkpoint_with_any_arrays_is_read_or_refused(tmp_path_factory: Any, content: bytes) -> None:
    folder = tmp_path_factory.mktemp("checkpoint")
    whole = Meta(
        trial_id="t", packages={}, arrays_sha256=hashlib.sha256(content).hexdigest(), progress=PROGRESS
    )
    meta = to_json(whole).encode()
    named = folder / f"000000000001-{hashlib.sha256(meta).hexdigest()}"
    named.mkdir()
    (named / META).write_bytes(meta)
    (named / ARRAYS).write_bytes(content)
    with outcome(RecordError):
        assert isinstance(read(named, trial_id="t", packages={}), Checkpoint)


@many(200)
@given(meta=st.one_of(st.binary(max_size=60), plain.map(lambda value: json.dumps(value).encode())))
def test_a_checkpoint_of_unknown_origin_is_read_or_refused(tmp_path_factory: Any, meta: bytes) -> None:
    folder = tmp_path_factory.mktemp("checkpoint") / f"000000000001-{hashlib.sha256(meta).hexdigest()}"
    folder.mkdir()
    (folder / META).write_bytes(meta)
    with outcome(RecordError):
        assert isinstance(read_meta(folder), Meta)
