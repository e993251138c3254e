"""The command `predict split`: whether splitting convolutions is faster, and refusals."""

import json
from dataclasses import replace

import pytest
from kernel_split_builders import split_record, split_sweep

from orchestrator.cli import main
from orchestrator.core.trial_spec import trial_id
from orchestrator.core.work_share import KernelLink
from orchestrator.execute.machine.inventory import local_node
from orchestrator.extensions.kernel_split.prediction.predict import predict_splits
from orchestrator.record.ledger import Ledger

SPEEDS_OF = (90e9, 90e9), (30e9, 15e9)
WORDS = ("+sweep=paper_kernel_split_mini", "trainer=kernel_split")


@pytest.fixture(autouse=True)
def working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


HERE = local_node(()).host_cpu


def keep(working_directory, records, *, host_cpu=HERE):
    ledger = Ledger(working_directory / "outputs/mine/records.jsonl")
    for record in records:
        spec = replace(record.spec, host_cpu=host_cpu)
        name = trial_id(spec)
        placement = replace(record.placement, trial=spec, trial_id=name)
        ledger.append(replace(record, trial_id=name, spec=spec, placement=placement))


def test_trials_on_another_host_processor_are_not_used_for_this_one(working_directory, capsys):
    fast, slow = ([split_record(workers=value, speeds=speeds) for value in (1, 2)] for speeds in SPEEDS_OF)
    keep(working_directory, fast, host_cpu="Server CPU x64")
    assert main(["predict", "split", *WORDS]) == 2
    assert (
        f"of cifar10_cnn on cpu ({HERE}) in fp32 is recorded, only of Server CPU x64; measure"
        in capsys.readouterr().err
    )
    keep(working_directory, slow)
    alone = outlooks(working_directory)
    keep(working_directory, [replace(item, ended_at=item.ended_at + 9) for item in fast], host_cpu="Last x8")
    assert outlooks(working_directory) == alone
    assert {item.host for item in alone} == {HERE}


def outlooks(working_directory, *words):
    return predict_splits((*WORDS, *words), working_directory=working_directory)


def test_each_point_of_several_workers_is_predicted_without_its_own_trials(working_directory, capsys):
    keep(working_directory, split_sweep()[0])
    found = outlooks(working_directory)
    assert len(found) == 6
    assert sorted(item.off_by for item in found) == pytest.approx([-0.1, -0.05, 0, 0.05, 0.1, 0.2])
    assert main(["predict", "split", *WORDS]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Splitting convolutions" in out
    assert "predicted without its own trials; 86% of others like these should be in them" in out
    assert "Splitting pays in " in out


def test_points_that_were_never_run_are_predicted_too(working_directory):
    keep(working_directory, split_sweep()[0])
    (found,) = outlooks(
        working_directory, "num_workers=4", "workload.kernels=[500,1500]", "global_batch_size=128"
    )
    assert found.setting == "kernels 500:1500, batch 128, 4 workers"
    assert found.measured is None
    assert found.predicted.speed_up.low < found.predicted.speed_up.median <= found.predicted.bound
    assert found.predicted.verdict == "pays"


def test_the_only_measured_setting_is_predicted_by_its_own_calibration_and_not_compared(working_directory):
    keep(working_directory, [split_record(workers=value) for value in (1, 2)])
    found = {outlook.setting: outlook for outlook in outlooks(working_directory)}[
        "kernels 5:50, batch 32, 2 workers"
    ]
    assert found.predicted.speed_up.median == pytest.approx(found.measured.median)
    assert found.predicted.verdict == "likely pays"
    assert found.off_by is None


def test_a_split_that_is_not_worth_it_shows_from_where_on_it_pays(working_directory, capsys):
    slow = KernelLink(bytes_per_second=2e8, latency_seconds=1e-4)
    settings = [((5, 50), 32), ((5, 50), 64), ((30, 100), 32), ((30, 100), 64)]
    keep(working_directory, [split_record(kernels=k, batch=b, workers=1) for k, b in settings])
    keep(working_directory, [split_record(kernels=k, batch=b, link=slow) for k, b in settings])
    (found,) = outlooks(working_directory, "workload.kernels=[5,50]", "global_batch_size=32", "num_workers=2")
    assert found.predicted.verdict == "not worth it"
    assert any(pay.startswith("kernels ") for pay in found.predicted.pays_from)
    assert found.predicted.least_bytes_per_second > slow.bytes_per_second
    words = ("workload.kernels=[5,50]", "global_batch_size=32", "num_workers=2")
    assert main(["predict", "split", *WORDS, *words]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Splitting is not worth it; at best in cifar10_cnn on cpu (" in out
    assert ", fp32, kernels 5:50, batch 32" in out
    assert "There it pays from kernels " in out


def test_for_programs_each_row_shows_that_it_is_predicted(working_directory, capsys):
    keep(working_directory, split_sweep()[0])
    assert main(["predict", "split", *WORDS, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["provenance"] for row in rows} == {"predicted"}
    assert {row["verdict"] for row in rows} <= {"pays", "unclear", "not worth it"}
    assert all(row["predicted"]["speed_up"]["median"] > 0 for row in rows)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            WORDS,
            "predict split: no own trial of kernel_split of cifar10_cnn on cpu in fp32 is "
            "recorded; measure some of these points, which calibrates: python -m orchestrator "
            "+sweep=paper_kernel_split_mini",
        ),
        (
            ("workload=cifar10_cnn", "workload.kernels=[5,50]", "trainer=kernel_split", "num_workers=2"),
            "calibrates: python -m orchestrator +sweep=single workload=cifar10_cnn 'workload.kernels=[5,50]'",
        ),
        (("+sweep=smoke",), "add trainer=kernel_split num_workers=2"),
        ((*WORDS, "num_workers=1"), "no point has a trainer that splits convolutions and several workers"),
        ((*WORDS, "--yes"), "unknown flag of 'predict split': '--yes'; did you mean '--json'?"),
    ],
)
def test_words_that_allow_no_prediction_give_one_line_and_exit_2(capsys, words, message):
    assert main(["predict", "split", *words]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err


def test_trials_of_before_the_link_was_measured_are_shown(working_directory, capsys):
    keep(working_directory, [split_record(workers=value, link=None) for value in (1, 2)])
    assert main(["predict", "split", *WORDS, "num_workers=4"]) == 2
    assert "nothing is known of the link from 1 trial of 2 workers x 1 thread" in capsys.readouterr().err


def test_trials_of_another_version_of_the_workload_do_not_count(working_directory, capsys):
    keep(working_directory, [split_record(workers=value, workload_version=99) for value in (1, 2)])
    assert main(["predict", "split", *WORDS]) == 2
    assert "no own trial of kernel_split" in capsys.readouterr().err
