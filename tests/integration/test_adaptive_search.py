"""A real sweep that chooses its trials, without Ray; whatever else runs on this host."""

import json

import pytest
from cli_process import ask, records_in

WORDS = (
    "+sweep=smoke",
    "sweep.include=[]",
    "trainer=torch_ddp",
    "precision=fp32",
    "global_batch_size=64,256",
    "steps=80",
    "data.source=synthetic",
    "executor=inline",
    "tracking=none",
    "search=adaptive",
    "search.repeats=2",
)


@pytest.mark.more
def test_a_search_shows_what_it_does_and_the_same_command_repeats_no_trial(tmp_path):
    """On a busy host noisy trials decide nothing: the search then uses its repeats up, or says so."""
    first = ask(*WORDS, cwd=tmp_path)
    records = records_in(tmp_path)
    assert first.code == 0, first.err
    assert "adaptive search: mnist_cnn: at least 2 further trials for 2 settings" in first.out
    assert "first design: it differs most from what was measured" in first.out
    assert 2 <= len(records) <= 4
    (job,) = json.loads((tmp_path / "outputs/smoke/search.json").read_text())["jobs"]
    assert (job["num_settings"], job["num_measured"], job["num_trials"]) == (2, 2, len(records))
    assert job["stop"] in ("clear", "exhausted")
    assert f"2 of 2 settings measured in {len(records)} trials" in first.out
    if job["stop"] == "clear":
        assert f"{job['leader']} is the choice (fastest)" in first.out
    assert job["why"] in ask("status", *WORDS, cwd=tmp_path).out
    reported = ask("report", *WORDS, cwd=tmp_path)
    assert reported.code == 0, reported.err
    assert "adaptive search" not in reported.out

    unnamed = [word for word in WORDS if not word.startswith("search")]
    assert job["why"] not in ask("status", *unnamed, cwd=tmp_path).out
    plain, named = ask("report", *unnamed, cwd=tmp_path), ask("report", *unnamed, "search=grid", cwd=tmp_path)
    (remark,) = [line for line in plain.out.splitlines() if "the last run was an adaptive search" in line]
    command = remark.partition("python -m orchestrator ")[2].replace("'", "")
    assert sorted(command.split()) == sorted(["report", *unnamed, "search=adaptive", "search.repeats=2"])
    assert [line for line in plain.out.splitlines() if line != remark and "next:" not in line] == [
        line for line in named.out.splitlines() if "next:" not in line
    ]
    again = ask(*WORDS, cwd=tmp_path)
    assert again.code == 0
    assert records_in(tmp_path)[: len(records)] == records
    assert len({record["trial_id"] for record in records_in(tmp_path)}) == len(records_in(tmp_path))
