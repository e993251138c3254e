"""The command `predict`: rooflines, times and costs of points, and refusals."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from builders import record, train_result, trial_spec

from orchestrator.analysis.formatting import UNKNOWN
from orchestrator.cli import main
from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.extensions.predictions.advise import recommend_settings
from orchestrator.extensions.predictions.predict_points import predict_points
from orchestrator.extensions.predictions.prediction_table import note_lines, prediction_table
from orchestrator.extensions.predictions.step_time import bundled_models as defaults
from orchestrator.extensions.predictions.step_time.bundled_models import default_models
from orchestrator.extensions.profile_transfer.latency_data.bundled import default_profiles
from orchestrator.record.ledger import Ledger
from orchestrator.terminal.table_layout import compute_widths, fitted


@pytest.fixture(autouse=True)
def working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asked(working_directory, *words):
    return predict_points(words, working_directory=working_directory)


def step(working_directory, *words):
    (prediction,) = asked(working_directory, *words)
    return prediction.step


def test_a_time_and_a_cost_with_intervals_are_printed(capsys):
    assert main(["predict", "workload=vgg16", "device=t4", "workload.image_size=64"]) == 0
    out = capsys.readouterr().out
    assert "image_size=64" in out
    past = r"checked on 264 steps of 18 labs: 9\d% lay within the 90% interval"
    assert re.search(r"1\.[67]\dx +1,2,3$", out, re.MULTILINE)
    assert re.search(rf"^2  {past}", out, re.MULTILINE)
    assert "\n3  priced as g4dn.xlarge on demand in aws us-east-1, $0.526/h of 2026-07-20" in out
    assert "\n1  vgg16 on this device in fp32 (PROFET)\n" in out
    assert "Predicted or compiled (docs/how_to/compiled.md), not measured." in " ".join(out.split())


def test_several_cheaper_machines_are_shown_beside_one_that_holds_all_workers(capsys):
    words = ("predict", "workload=vgg16", "device=t4", "num_workers=8", "report.epochs=20")
    assert main([*words]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "priced as g4dn.metal on demand in aws us-east-1, $7.824/h" in out
    assert "Elsewhere 2 x n1-standard-8+4xT4 on demand in gcp us-central1, $3.56/h of " in out
    assert "the network between its machines is not in the time" not in out
    assert main([*words, "num_hosts=1,2"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "on t4 in fp32, batch 64, 8 workers on 2 hosts: " in out
    assert "$90 (predicted, without network, set-up and boot), which is the cheapest" in out
    assert "the network between its machines is not in the time" in out


def test_what_a_compiler_saves_is_named_as_left_out(capsys):
    words = ("predict", "workload=resnet50", "device=h100", "precision=bf16", "trainer=torch_ddp")
    note = "what trainer.compile=on saves is not in the time"
    assert main([*words]) == 0
    assert note not in capsys.readouterr().out
    assert main([*words, "trainer.compile=on"]) == 0
    assert note in capsys.readouterr().out


BOOT = "Boot and install of a rented machine are not included (prices.start_seconds=[LOW,HIGH] adds them)."


@pytest.mark.parametrize("command", [["predict"], ["predict", "explain"]])
@pytest.mark.more_cases("command1")
def test_boot_is_mentioned_only_for_absent_devices(capsys, command):
    words = [*command, "workload=mnist_cnn", "report.epochs=5"]
    assert main([*words, "device=cpu"]) == 0
    assert "boot" not in capsys.readouterr().out
    assert main([*words, "device=cpu,t4"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert out.count(BOOT) == 1
    if command == ["predict"]:
        assert re.search(
            r"on t4 in fp32, batch 64: [^(]*\([^)]*\), \S+ \(predicted, without set-up and boot\)", out
        )
    assert main([*words, "device=t4", "prices.start_seconds=[60,300]"]) == 0
    assert "of a rented machine come on top: 60 s to 5.0 min, $0.0088 to $0.044, as stated" in " ".join(
        capsys.readouterr().out.split()
    )


@pytest.mark.parametrize(
    ("words", "input_", "milliseconds", "usd"),
    [
        (
            ("workload=resnet50",),
            "images 224x224, 1,000 classes (published size; runs default to ",
            504,
            1.15,
        ),
        (
            ("workload=resnet50", "workload.image_size=32"),
            "images 32x32, 10 classes (published size: workload.image_size=224 workload.num_classes=1000)",
            44.8,
            0.102,
        ),
        (("+sweep=single", "workload=resnet50"), "images 32x32, 10 classes (published size: ", 44.8, 0.102),
    ],
)
def test_the_published_size_is_predicted_unless_the_words_name_another(
    working_directory, words, input_, milliseconds, usd
):
    (found,) = asked(working_directory, *words, "device=t4")
    assert found.input.startswith(input_)
    assert found.step.likely == pytest.approx(milliseconds / 1000, rel=0.02)
    assert found.usd_per_million_samples.median == pytest.approx(usd, rel=0.02)


def test_rows_with_the_same_causes_share_their_notes(working_directory):
    found = asked(working_directory, "workload=resnet50", "device=t4", "global_batch_size=16,32,64,128")
    assert [row[-1] for row in prediction_table(found).rows] == ["1,2,3"] * 4
    assert [line[:3] for line in note_lines(found)] == ["1  ", "2  ", "3  "]


def test_least_memory_without_activations_is_shown_as_such(working_directory):
    (found,) = asked(working_directory, "workload=vgg16", "device=t4")
    lacks = "Least GiB of an own job lacks its activations, so no batch changes it."
    assert lacks not in prediction_table([found]).note
    own = replace(found, memory=replace(found.memory, moved_bytes=1e9))
    assert lacks in prediction_table([found, own]).note


def test_a_prediction_is_a_line_at_80_columns(working_directory):
    words = ("workload=resnet50", "device=t4,v100,a100_40,l4", "precision=fp32,fp16")
    slim = fitted(prediction_table(asked(working_directory, *words)), width=80)
    widths = compute_widths(slim, width=80)
    cells = [(cell, width) for row in slim.rows for cell, width in zip(row, widths, strict=True)]
    assert all("\n" not in cell and len(cell) <= width for cell, width in cells)
    assert {"device", "precision", "predicted\nms", "$/M\nsamples", "90% interval"} <= {
        column.header for column in slim.columns
    }


def test_points_that_differ_in_the_trainer_alone_are_predicted_once(working_directory):
    both = asked(working_directory, "workload=vgg16", "trainer=tensorflow,torch_ddp", "device=t4,v100")
    assert [prediction.point.device.name for prediction in both] == ["t4", "v100"]


def test_every_point_of_a_sweep_is_predicted_or_refused(working_directory):
    found = asked(working_directory, "+sweep=tpu_vs_gpu")
    kinds = {
        (cached_trial.point.device.kind, cached_trial.point.precision): type(cached_trial.step)
        for cached_trial in found
    }
    assert {key for key, kind in kinds.items() if kind is Estimate} == {
        ("gpu", "fp32"),
        ("gpu", "fp16"),
        ("tpu", "bf16"),
        ("tpu", "fp32"),
    }


ELSEWHERE = "vgg16 on other devices (PROFET, Lambda, TensorFlow and 3 more)"
NO_CPU = (
    "no CPU of this kind was measured; "
    "`python -m orchestrator predict calibrate device=cpu` on it takes two minutes"
)


def own_record(*, step_seconds=0.1, **changes):
    """One of the user's, of lenet5 on a T4 that was far slower than what others measured."""
    spec = trial_spec(workload="lenet5", device="t4", host_cpu=None, **changes)
    blocks = (10 * step_seconds,) * 6
    quiet = train_result(block_seconds=(blocks,), cpu_seconds=(sum(blocks),))
    return record(spec=spec, sweep="mine", result=quiet)


@pytest.mark.more
def test_own_records_change_what_is_predicted_and_it_shows_it(working_directory, capsys):
    words = ("workload=vgg16", "device=t4", "workload.image_size=64")
    before = step(working_directory, *words)
    Ledger(working_directory / "outputs/mine/records.jsonl").append(own_record())
    found = step(working_directory, *words)
    assert found.likely > before.likely
    assert found.source == (
        "own records on this device of lenet5: 1 of sweep mine; vgg16 on this device in fp32 (PROFET)"
    )
    assert main(["plan", "--json", "+sweep=smoke", "trainer=torch_ddp", *words]) == 0
    forecasts = json.loads(capsys.readouterr().out)["forecasts"]
    assert found.source in {forecast["step"].get("source") for forecast in forecasts}


def test_own_records_of_the_very_step_are_what_is_predicted_and_of_trainers_the_fastest(working_directory):
    words = ("workload=lenet5", "device=t4")
    ledger = Ledger(working_directory / "outputs/mine/records.jsonl")
    ledger.append(own_record())
    (found,) = asked(working_directory, *words, "trainer=torch_ddp,tensorflow")
    assert found.step.likely == pytest.approx(0.1)
    assert found.step.source == "own records of this very step: 1 of sweep mine"
    ledger.append(own_record(trainer="tensorflow", step_seconds=0.05))
    assert step(working_directory, *words).likely == pytest.approx(0.05)
    assert step(working_directory, *words, "global_batch_size=128").source.startswith(
        "own records on this device of"
    )
    assert step(working_directory, *words, "data.source=real").source.startswith(
        "own records on this device of"
    )


def test_rows_name_the_values_in_which_points_differ(working_directory):
    words = ("device=t4", "num_workers=2", "num_hosts=1,2", "data.source=auto,synthetic")
    rows = prediction_table(asked(working_directory, "workload=lenet5", *words)).rows
    assert [(row[0], row[4]) for row in rows] == [
        (job, workers)
        for workers in ("2 on 1 host", "2 on 2 hosts")
        for job in ("lenet5", "lenet5 data.source=synthetic")
    ]


def test_where_room_is_short_the_time_and_the_cost_stay(working_directory):
    words = ("workload=vgg16", "device=t4,tpu_v3_8", "precision=bf16,fp32")
    table = prediction_table(asked(working_directory, *words))
    wide, slim = (fitted(table, width=width) for width in (120, 80))
    assert [column.header.split()[0] for column in wide.columns][-5:] == [
        "predicted",
        "$/M",
        "least",
        "90%",
        "notes",
    ]
    shown = [column.header.split()[0] for column in slim.columns]
    assert {"device", "predicted", "$/M"} <= set(shown)


def test_a_device_without_measurements_has_a_wider_interval(working_directory):
    known, new = (step(working_directory, "workload=vgg16", f"device={name}") for name in ("t4", "l4"))
    assert known.high / known.low < new.high / new.low
    assert new.source == f"rough: {ELSEWHERE}"


@pytest.mark.more_except("words0", "more)")
@pytest.mark.parametrize(
    ("words", "source"),
    [
        (("device=tpu_v3_8", "precision=bf16"), "other networks on this device in 16 bit (Google)"),
        (("device=tpu_v5e_8", "precision=bf16"), f"rough: {ELSEWHERE}"),
        (("device=a100_40", "precision=bf16"), "other networks on this device in 16 bit (NVIDIA)"),
        (
            ("device=v100", "precision=fp16", "num_workers=4"),
            "vgg16 on this device in 16 bit (Lambda, Sako)",
        ),
        (("device=t4", "num_workers=2"), "vgg16 on this device in fp32 (PROFET)"),
    ],
)
def test_the_source_names_the_published_steps_with_most_in_common(working_directory, words, source):
    found = step(working_directory, "workload=vgg16", *words)
    assert found.source == source
    assert found.high / found.likely > 1.5


@pytest.mark.more_except("words0", "fp32")
@pytest.mark.parametrize(
    ("words", "reason", "to_measure"),
    [
        (("workload=vgg16", "device=cpu"), NO_CPU, "this point"),
        (
            ("workload=vgg16", "device=t4", "precision=bf16"),
            "t4 has no bf16 arithmetic; it has fp32 and fp16",
            "it in fp32 or fp16",
        ),
        (
            ("workload=imdb_bilstm", "workload.sequence_length=2", "device=t4"),
            "flops 1.3e+07, measured were 9.4e+07 to 6.9e+12",
            "this point",
        ),
        (("workload=imdb_bilstm", "device=cpu"), NO_CPU, "this point"),
        (
            ("workload=vgg16", "workload.image_size=32", "device=t4", "global_batch_size=65536"),
            "a replica needs at least 47.6 GiB, t4 has 16.0 GiB (predicted by counting)",
            "global_batch_size=21439 or micro_batch_size=16384 at most",
        ),
    ],
)
def test_what_was_never_measured_is_refused_with_what_to_measure(
    working_directory, words, reason, to_measure
):
    found = step(working_directory, *words)
    assert isinstance(found, Refusal)
    assert (found.reason, found.to_measure) == (reason, to_measure)


def test_an_input_that_the_network_cannot_take_is_a_refusal_beside_others(working_directory):
    small, large = asked(working_directory, "workload=inception_v3", "workload.image_size=32,75", "device=t4")
    assert (small.roofline, small.step) == (
        None,
        Refusal(
            reason="inception_v3 image_size=32 is too small; it takes 75 pixels or more",
            to_measure="another size",
        ),
    )
    assert isinstance(large.step, Estimate)
    assert prediction_table([small]).rows[0][5:] == (*(UNKNOWN,) * 3, "refused", "1,2")


def test_a_refusal_still_has_its_roofline(working_directory):
    words = ("workload=imdb_bilstm", "device=v100", "precision=fp16", "num_workers=4")
    (found,) = asked(working_directory, *words, "workload.sequence_length=2")
    assert isinstance(found.step, Refusal)
    assert found.roofline.exchange_seconds > 0
    assert found.roofline.bound_seconds >= found.roofline.compute_seconds


@pytest.mark.more_except("NAME", "70b';")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["predict", "workload=vgg99"],
            "unknown workload 'vgg99'; did you mean 'vgg19'? your own: workload_path=FOLDER workload=NAME",
        ),
        (
            ["predict", "workload=llama-70b"],
            "unknown workload 'llama-70b'; did you mean 'llama_style'? your own:",
        ),
        (["predict", "predict.sort=price"], "unknown value of predict.sort: 'price'; known: cost, time"),
        (["predict", "device=g4dn.large"], "device=g4dn.large is no device or instance; nearest: g4dn."),
        (
            ["predict", "device=p3.2xlarge,p3.16xlarge"],
            "instances with different numbers of devices need num_workers=N, or a command each: "
            "p3.2xlarge (1), p3.16xlarge (8)",
        ),
        (["predict", "device=t5"], "unknown device 't5'"),
        (["predict", "--jsn"], "unknown flag of 'predict': '--jsn'; did you mean '--json'?"),
        (
            ["predict", "evalute", "data=x"],
            "unknown command 'predict evalute'; did you mean 'predict eval",
        ),
        (["predict", "transfer"], "predict transfer needs data=PATH and takes no other override"),
    ],
)
def test_a_wrong_request_is_one_line_and_exit_2(capsys, words, message):
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err


def test_bundled_models_name_the_licence_of_their_data_and_the_command_that_made_them():
    models = default_models()
    assert "MIT License, Copyright (c) 2021 anonymous-profet" in models.notice
    assert "MLPerf" in models.notice
    assert models.made_by == "python tools/fit_bundled_models.py $ORCHESTRATOR_DATA/profet"
    assert {"t4", "v100", "h200", "tpu_v3_8"} <= {peaks.name for peaks in models.devices}
    assert {"PROFET", "NVIDIA", "Lambda"} <= {step.labels.laboratory for step in models.steps}


@pytest.mark.parametrize(
    ("command", "tool"), [("fit", "fit_bundled_models.py"), ("condense", "condense_profiles.py")]
)
def test_what_writes_the_bundled_files_is_no_command(command, tool, capsys):
    assert main(["predict", command, "data=mine.csv"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert f"unknown command 'predict {command}'" in err
    assert f"in a checkout of the repository run `python tools/{tool} DATA`" in err
    assert err.endswith(
        "; known: predict, predict advise, predict calibrate, predict evaluate, predict explain, "
        "predict split, predict transfer\n"
    )
    assert Path(__file__).parents[3].joinpath("tools", tool).is_file()


@pytest.mark.more
def test_a_profile_of_ones_own_is_carried_to_other_gpus_with_what_travels(working_directory, capsys):
    (working_directory / "mine.csv").write_text(
        "device,model,batch_size,step_milliseconds,profiled_steps,device_op_milliseconds.Conv2D,"
        "device_op_milliseconds.Conv2DBackpropInput,device_op_milliseconds.Conv2DBackpropFilter,"
        "device_op_milliseconds.Relu,device_op_milliseconds.FusedBatchNormV3,device_op_milliseconds.IDLE\n"
        "t4,MyNet,64,100,2,50,45,60,20,15,10\n"
        "t4,Odd,64,100,2,0,0,0,0,190,10\n"
    )
    assert main(["predict", "transfer", "data=mine.csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (known,) = [line for line in lines if line.startswith("MyNet") and "v100" in line]
    assert 30 < float(known.split("v100")[1].split()[0]) < 45
    (odd,) = [line for line in lines if line.startswith("Odd") and "v100" in line]
    assert "unlike all that were measured; measure it on v100" in odd


def test_the_profiles_that_travel_with_the_code_are_small_and_have_their_licence_beside_them():
    folder = Path(defaults.__file__).parents[2] / "profile_transfer/data"
    assert "Copyright (c) 2021 anonymous-profet" in (folder / "default_profiles.LICENSE").read_text()
    assert 0 < sum(path.stat().st_size for path in folder.glob("default_*")) < 2e6
    assert default_profiles().profiled_devices == ("k80", "m60", "t4", "v100")


def test_devices_that_are_not_alike_are_refused_in_one_line(capsys):
    assert main(["predict", "devices=[t4,cpu]"]) == 2
    assert capsys.readouterr().err == (
        "error: unequal devices, as t4+cpu, are not modelled; remove devices=…, or measure "
        "them: python -m orchestrator +sweep=single 'devices=[t4,cpu]'\n"
    )


def test_a_measured_loader_limits_faster_devices_and_explain_has_its_part(working_directory, capsys):
    words = ("workload=lenet5", "device=h100", "global_batch_size=1024")
    before = step(working_directory, *words)
    rate = 256 / before.likely  # a quarter of what the device could train
    slow = own_record(global_batch_size=1024)
    kept = replace(slow, result=replace(slow.result, pipeline_samples_per_second=rate))
    Ledger(working_directory / "outputs/mine/records.jsonl").append(kept)
    (found,) = asked(working_directory, *words)
    assert found.step.likely == pytest.approx(1024 / rate)
    assert found.breakdown.loader == pytest.approx(1024 / rate)
    assert found.step.source.startswith("limited by your loader above ")
    assert main(["predict", "explain", *words]) == 0
    assert re.search(r"^loader .* batches from your loader, measured alone *$", capsys.readouterr().out, re.M)
    (advice,) = recommend_settings(words, confidence=None, working_directory=working_directory)
    assert advice.standings[0].likely == pytest.approx(1024 / rate, rel=0.01)
