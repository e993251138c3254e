"""Documents of `--json` in real processes: one on standard output, nothing else, the usual exit code."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_process import NOOP, Answer, ask, start, wait_for_stage

COUNTS = {"measured": 0, "rehearsed": 0, "failed": 0, "pruned": 0, "skipped": 0, "missing": 0, "others": 0}
REPORT = {
    *("sweep", "is_complete", "counts", "answers", "settings", "runs", "predicted", "rehearsed", "failed"),
    *("skipped", "costs", "sentences", "report", "files", "unwritten"),
}

PREDICTION = {
    *("workload", "workload_options", "device", "instance", "precision", "num_workers", "num_hosts"),
    *("global_batch_size", "micro_batch_size", "activation_checkpointing", "sharding"),
    *("provenance", "step_seconds", "source", "past_hits"),
    *("refusal", "interval_factor", "left_out"),
    *("command", "input", "job"),
    *("memory", "parts_seconds", "roofline_seconds", "usd_per_million_samples", "price_marks", "price"),
    *("tokens_per_sample", "tokens_per_second", "usd_per_million_tokens"),
    "unpriced",
}
MEMORY = {
    *("provenance", "least_bytes", "capacity_bytes", "fits", "largest_batch", "weight_bytes"),
    *("gradient_bytes", "slot_bytes", "activation_bytes", "gathered_bytes", "added_bytes", "is_tight"),
}


def document_of(answer: Answer) -> Any:
    """Read the document; neither NaN nor infinity is JSON."""

    def refuse(name: str) -> float:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(answer.out, parse_constant=refuse)


def numbers_without_provenance(node: Any, *, known: bool = False) -> Iterator[float]:
    """Yield the numbers of a document that no object around them says the provenance of."""
    if isinstance(node, dict):
        for item in node.values():
            yield from numbers_without_provenance(item, known=known or "provenance" in node)
    elif isinstance(node, list):
        for item in node:
            yield from numbers_without_provenance(item, known=known)
    elif isinstance(node, float) and not known:
        yield node


def test_run_and_report_print_one_document(tmp_path: Path) -> None:
    words = (*NOOP, "trainer.fault=none,nan", "device=cpu,t4", "sweep.repeats=2")
    ran = ask("run", *words, "--json", cwd=tmp_path)
    assert ran.code == 1, ran.err
    assert " done: " in ran.err
    found = document_of(ran)
    assert set(found) == REPORT
    assert found["is_complete"] is False
    counts = {key: count for key, count in found["counts"].items() if count}
    assert counts["measured"] == 2
    assert counts["failed"] >= 2
    (setting,) = found["settings"]
    assert (setting["provenance"], setting["num_repeats"], setting["setting"]["device"]) == (
        "measured",
        2,
        "cpu",
    )
    assert setting["samples_per_second"]["low"] <= setting["samples_per_second"]["median"]
    assert {one["provenance"] for one in found["predicted"]} <= {"predicted", "compiled", "refused"}
    assert {one["failure"]["kind"] for one in found["failed"]} == {"diverged"}
    assert math.isclose(found["costs"]["usd"], sum(one["bill"]["usd"] for one in found["costs"]["settings"]))
    assert Path(found["report"]).is_file()
    assert found["report"] in found["files"]
    reported = ask("report", *words, "--json", cwd=tmp_path)
    assert (reported.code, reported.out) == (ran.code, ran.out)
    without = {key: found[key] for key in ("settings", "predicted", "runs", "failed", "costs")}
    assert not list(numbers_without_provenance(without))


@pytest.mark.more
def test_a_report_without_records_is_a_document(tmp_path: Path) -> None:
    answer = ask("report", *NOOP, "--json", cwd=tmp_path)
    assert (answer.code, answer.err) == (1, "")
    found = document_of(answer)
    assert found["counts"] == {**COUNTS, "missing": 1}
    assert found["costs"]["usd"] is None


@pytest.mark.more
def test_answers_of_a_report_are_those_of_advise(tmp_path: Path) -> None:
    words = ("+sweep=smoke", "device=cpu,t4,v100", "trainer=torch_ddp", "precision=fp32", "sweep.include=[]")
    more = ("data.source=synthetic", "tracking=none", "executor=inline", "steps=70")
    ran = ask("run", *words, *more, "--json", cwd=tmp_path)
    assert ran.code == 0, ran.err
    found = document_of(ran)
    assert {one["provenance"] for one in found["settings"]} == {"measured"}
    (answer,) = found["answers"]
    (advice,) = document_of(ask("predict", "advise", *words, *more, "--json", cwd=tmp_path))
    assert answer["state"] in ("settled", "tie", "not settled", "none")
    assert set(answer) == set(advice)
    provenances = {one["provenance"] for one in answer["standings"]}  # a busy host leaves the CPU out
    assert "predicted" in provenances
    assert provenances <= {"measured", "compiled", "predicted"}


@pytest.mark.more
def test_status_shows_what_runs_and_what_is_left(tmp_path: Path) -> None:
    words = (*NOOP, "trainer.fault=none,hang", "checkpoint.grace_seconds=1")
    before = document_of(ask("status", *words, "--json", cwd=tmp_path))
    assert before["is_running"] is False
    assert (before["counts"]["to_measure"], before["under_way"]) == (2, [])
    with start("run", *words, cwd=tmp_path) as running:
        try:
            wait_for_stage(tmp_path, "running", trials=2)
            answer = ask("status", *words, "--json", cwd=tmp_path)
        finally:
            ask("cancel", *words, cwd=tmp_path)
            running.communicate(timeout=60)
    assert (answer.code, answer.err) == (0, "")
    found = document_of(answer)
    assert found["is_running"] is True
    assert str(running.pid) in found["holder"]
    assert found["seconds_left"] is None or 0 <= found["seconds_left"]["low"] <= found["seconds_left"]["high"]
    assert found["counts"]["to_measure"] == len(found["left"]) == 1
    (trial,) = found["under_way"]
    assert trial["trial_id"] == found["left"][0]["trial_id"]
    assert (trial["stage"], trial["attempt"], trial["provenance"]) == ("running", 1, "measured")


@pytest.mark.more
def test_sync_shows_what_it_sent(tmp_path: Path) -> None:
    uri = f"tracking.uri=sqlite:///{tmp_path}/store.db"
    assert ask("run", *NOOP, cwd=tmp_path).code == 0
    words = [word for word in NOOP if word != "tracking=none"]
    answer = ask("sync", *words, uri, "--json", cwd=tmp_path)
    assert answer.code == 0, answer.err
    assert document_of(answer) == {"sent": 1, "server": uri.partition("=")[2]}
    assert document_of(ask("sync", *words, uri, "--json", cwd=tmp_path))["sent"] == 0


@pytest.mark.more
def test_predictions_name_their_provenance(tmp_path: Path) -> None:
    answer = ask("predict", "workload=vgg16", "device=t4,tpu_v3_8", "prices=none", "--json", cwd=tmp_path)
    assert (answer.code, answer.err) == (0, "")
    found = document_of(answer)["predictions"]
    assert [one["device"] for one in found] == ["t4", "tpu_v3_8"]
    for one in found:
        assert one["provenance"] in ("predicted", "compiled", "refused")
        assert (one["step_seconds"] is None) == (one["provenance"] == "refused")
        assert one["usd_per_million_samples"] is None
        assert set(one) == PREDICTION
        assert set(one["memory"]) == MEMORY
        assert one["memory"]["provenance"] == "predicted"
        assert one["unpriced"]
    assert all("lay within" in one["past_hits"] for one in found)
    assert set(found[0]["parts_seconds"]) == {
        "compute",
        "memory",
        "sequence",
        "launch",
        "host",
        "exchange",
        "gather",
        "loader",
    }
    assert not list(numbers_without_provenance(found))


@pytest.mark.more
def test_findings_on_a_cluster_file_are_a_document(tmp_path: Path) -> None:
    good = ask("cluster", "pools=gke", "pools.project=my-project", "budget.usd=20", cwd=tmp_path)
    (tmp_path / "good.yaml").write_text(good.out)
    (tmp_path / "bad.yaml").write_text(good.out.replace("google.com/tpu: ", "google.com/tup: "))
    sound = ask("cluster", "--check", "good.yaml", "--json", cwd=tmp_path)
    assert (sound.code, sound.err) == (0, "")
    assert document_of(sound) == {"file": "good.yaml", "is_sound": True, "findings": []}
    faulty = ask("cluster", "--check", "bad.yaml", "--json", cwd=tmp_path)
    assert (faulty.code, faulty.err) == (2, "")
    found = document_of(faulty)
    assert found["is_sound"] is False
    assert all({"key", "message"} == set(finding) for finding in found["findings"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "+sweep=smok"), "unknown sweep 'smok'; did you mean 'smoke'?"),
        (("cluster", "pools=gcp", "pools.project=my-project"), "cluster --json needs --check; "),
        (("pause", *NOOP), "unknown flag of 'pause': '--json'"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_wrong_request_is_no_document(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    answer = ask(*words, "--json", cwd=tmp_path)
    assert (answer.code, answer.out) == (2, "")
    (told,) = answer.err.splitlines()
    assert told.startswith(f"error: {message}")
