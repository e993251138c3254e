"""`predict` and `predict explain` show memory, basis, order, instances, and the command that measures."""

import json

import pytest
from builders import record, train_result, trial_spec
from repository import ROOT

from orchestrator.cli import main
from orchestrator.record.ledger import Ledger

RESNET = ("workload=resnet50", "workload.image_size=224", "workload.num_classes=1000")


@pytest.fixture(autouse=True)
def working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys, *words):
    assert main(["predict", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)["predictions"]


def test_a_step_that_cannot_fit_has_no_time_but_the_largest_batch(capsys):
    small, large = told(capsys, *RESNET, "device=v100", "global_batch_size=64,512")
    assert small["memory"]["fits"]
    assert small["step_seconds"]["low"] > 0
    assert (large["memory"]["fits"], large["provenance"], large["step_seconds"]) == (False, "refused", None)
    assert 128 <= large["memory"]["largest_batch"] < 256, "128 is trained on a V100 of 16 GB, by NVIDIA"
    assert large["memory"]["provenance"] == "predicted"
    assert main(["predict", *RESNET, "device=v100", "global_batch_size=512"]) == 0
    out = capsys.readouterr().out
    assert "does not fit: a replica needs at least 33.8 GiB, v100 has 16.0 GiB" in out
    assert f"possible: global_batch_size={large['memory']['largest_batch']} at most" in out


@pytest.mark.parametrize(
    ("words", "possible"),
    [
        (
            ("workload.size=small", "global_batch_size=512"),
            "global_batch_size=17 or micro_batch_size=16 at most",
        ),
        (
            ("workload.size=small", "global_batch_size=512", "micro_batch_size=64"),
            "micro_batch_size=16 at most",
        ),
        (("workload.size=xl",), "num_workers=4 sharding=full with micro_batch_size=2 at most"),
        (("workload.size=xl", "global_batch_size=1"), "a device with more memory, or a smaller network"),
    ],
)
def test_a_step_that_cannot_fit_names_a_micro_batch_that_may(words, possible, capsys):
    assert main(["predict", "workload=gpt2", "device=t4", "precision=fp32", *words]) == 0
    assert f"possible: {possible}\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "possible"),
    [
        (("num_workers=8",), "sharding=full with micro_batch_size=2 at most"),
        (("num_workers=8", "global_batch_size=8"), "sharding=full"),
        (("global_batch_size=8",), "num_workers=4 sharding=full with micro_batch_size=1 at most"),
    ],
)
def test_weights_that_cannot_fit_name_shards_that_may(words, possible, capsys):
    network = ("workload=llama_style", "workload.size=8b", "device=h100", "precision=bf16")
    assert main(["predict", *network, *words]) == 0
    assert f"possible: {possible}\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (
            ("num_workers=16", "num_hosts=2"),
            "the network between hosts is unknown; cluster.network_gbps has the Gb/s of one host",
        ),
        (("num_workers=8", "num_hosts=2"), "the network between hosts is unknown"),
    ],
)
def test_the_time_of_hybrid_shards_is_refused_with_the_command_that_measures_them(words, reason, capsys):
    asked = ("workload=gpt2", "device=h100", "precision=bf16", "sharding=hybrid", *words)
    assert main(["predict", *asked]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "or measure it" in line]
    assert reason in line
    assert {*asked} <= {*line.split()}


def test_a_sample_that_cannot_fit_names_checkpointing_that_may(capsys):
    words = ("workload=llama_style", "workload.size=160m", "workload.sequence_length=32768")
    assert main(["predict", *words, "device=t4", "precision=fp32", "global_batch_size=1"]) == 0
    assert "possible: activation_checkpointing=full\n" in capsys.readouterr().out


@pytest.mark.parametrize("order", ["time", "cost"])
def test_rows_are_sorted_and_refusals_come_last(order, capsys):
    words = (*RESNET, "device=cpu,t4,v100,a100_40", f"predict.sort={order}")
    found = told(capsys, *words)
    assert found[-1]["device"] == "cpu"
    values = [
        one["step_seconds"]["median"] if order == "time" else one["usd_per_million_samples"]["median"]
        for one in found[:-1]
    ]
    assert values == sorted(values)


@pytest.mark.more_except("t4-1", "v100-1")
@pytest.mark.parametrize(
    ("instance", "device", "workers"),
    [
        ("g4dn.xlarge", "t4", 1),
        ("p3.2xlarge", "v100", 1),
        ("p3.8xlarge", "v100", 4),
        ("a2-highgpu-1g", "a100_40", 1),
        ("a2-highgpu-8g", "a100_40", 8),
    ],
)
def test_an_instance_stands_for_its_devices(instance, device, workers, capsys):
    (found,) = told(capsys, *RESNET, f"device={instance}", "precision=fp16")
    assert (found["device"], found["instance"], found["num_workers"]) == (device, instance, workers)
    assert main(["predict", "workload=vgg16", f"device={instance}"]) == 0
    assert f"{device} ({instance})" in capsys.readouterr().out


def test_given_workers_go_before_those_of_an_instance(capsys):
    (found,) = told(capsys, *RESNET, "device=p3.8xlarge", "num_workers=2", "precision=fp16")
    assert found["num_workers"] == 2


@pytest.mark.more_except("t4-imdb_bilstm", "t4-imdb_bigru")
@pytest.mark.parametrize(
    "workload",
    ["imdb_bilstm", "imdb_bigru", "mnist_gan", "mnist_dbn", "gpt2", "bert_base", "vit_b16", "llama_style"],
)
@pytest.mark.parametrize("device", ["t4", "tpu_v3_8", "cpu"])
def test_every_workload_has_a_time_or_a_reason_and_a_command(workload, device, capsys):
    (found,) = told(capsys, f"workload={workload}", f"device={device}")
    if found["step_seconds"] is None:
        assert found["refusal"]["reason"]
        assert found["command"].startswith(f"python -m orchestrator +sweep=single workload={workload} ")
        assert f"device={device} " in found["command"]
    else:
        assert found["interval_factor"] > 1


def test_a_refusal_names_the_command_that_measures_it(capsys):
    assert main(["predict", "workload=vgg16", "device=cpu"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "or measure it" in line]
    assert line.endswith(
        "or measure it: python -m orchestrator +sweep=single workload=vgg16 workload.image_size=224 "
        "workload.num_classes=1000 device=cpu precision=fp32 trainer=torch_ddp global_batch_size=64"
    )


def test_explain_shows_the_parts_of_a_step(capsys):
    (found,) = told(capsys, "explain", "workload=vgg16", "device=v100", "num_workers=4", "precision=fp16")
    parts = found["parts_seconds"]
    assert list(parts) == ["compute", "memory", "sequence", "launch", "host", "exchange", "gather", "loader"]
    assert parts["sequence"] == 0.0
    assert parts["exchange"] == pytest.approx(found["roofline_seconds"]["exchange_seconds"])
    assert main(["predict", "explain", "workload=vgg16", "device=v100,cpu"]) == 0
    out = capsys.readouterr().out
    assert "Largest part: " in out
    assert "#" not in out, "bars are for terminals"
    assert "vgg16 image_size=224 num_classes=1000 on 1 x cpu in fp32, batch 64: the parts are unknown" in out


def test_own_records_of_a_step_go_before_the_count(working_directory, capsys):
    (counted,) = told(
        capsys, "workload=vgg16", "workload.image_size=32", "device=t4", "global_batch_size=65536"
    )
    assert (counted["provenance"], counted["memory"]["fits"]) == ("refused", False)
    spec = trial_spec(workload="vgg16", device="t4", global_batch_size=65536, host_cpu=None)
    measured = record(spec=spec, sweep="mine", result=train_result(block_seconds=((1.0,) * 6,)))
    Ledger(working_directory / "outputs/mine/records.jsonl").append(measured)
    (known,) = told(
        capsys, "workload=vgg16", "workload.image_size=32", "device=t4", "global_batch_size=65536"
    )
    assert known["step_seconds"]["median"] == pytest.approx(0.1)
    assert known["left_out"] == [], "a step that has run fits"


SCRIPT = (
    "workload=script",
    f"script.folder={ROOT / 'docs/examples/scripts'}",
    "script.command=python train_mnist.py",
)


def test_a_script_on_absent_gpus_is_sent_to_a_job_and_to_a_machine_that_has_one(capsys):
    assert main(["predict", *SCRIPT, "device=t4,h100"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "or measure it" in line]
    assert "those of a job are: docs/tutorials/own_job.md" in line
    assert "; or measure it on a machine with t4 (elsewhere it is rehearsed): " in line
    assert main(["predict", "advise", *SCRIPT, "device=t4,h100"]) == 0
    said = capsys.readouterr().out
    assert "measure this point (t4, fp32); a machine without its device only rehearses it" in said


def test_a_refusal_of_several_devices_proposes_to_measure_the_one_that_is_here(capsys):
    assert main(["predict", *SCRIPT, "device=t4,cpu"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "or measure it" in line]
    assert "; or measure it: " in line
    assert " device=cpu " in line


@pytest.mark.parametrize("device", ["gaudi3", "trainium2"])
def test_a_device_without_a_trainer_is_refused_beside_others(device, capsys):
    refused, known = told(capsys, *RESNET, f"device={device},h100", "precision=bf16")
    assert (refused["provenance"], known["provenance"]) == ("refused", "predicted")


def test_arithmetic_that_a_device_lacks_is_refused_before_its_memory(capsys):
    (found,) = told(capsys, *RESNET, "device=t4", "precision=bf16", "global_batch_size=512")
    assert found["memory"]["fits"] is False
    assert found["refusal"]["reason"].startswith("t4 has no bf16 arithmetic")


def test_no_largest_batch_is_named_where_micro_batches_divide_it(capsys):
    words = ("workload=gpt2", "device=t4", "precision=fp16", "global_batch_size=8")
    whole, divided = told(capsys, *words, "micro_batch_size=0,2")
    assert whole["memory"]["largest_batch"]
    assert (divided["memory"]["fits"], divided["memory"]["largest_batch"]) == (True, None)


def test_a_job_over_machines_is_shown_without_its_network(capsys):
    words = (*RESNET, "device=h100", "precision=fp16", "global_batch_size=2048", "report.epochs=90")
    one, several = told(capsys, *words, "num_workers=8,16")
    assert one["left_out"] == []
    assert several["left_out"] == ["the network between its machines is not in the time"]
    assert main(["predict", *words, "num_workers=16"]) == 0
    assert "(predicted, without network, set-up and boot)" in capsys.readouterr().out


def test_settings_that_may_not_fit_are_no_cheapest_beside_others(capsys):
    words = (*RESNET, "precision=fp16", "global_batch_size=2048", "report.epochs=90")
    assert main(["predict", *words, "device=rtx_4090", "num_workers=4,8"]) == 0
    line, *_ = capsys.readouterr().out.splitlines()
    assert " on rtx_4090 in fp16, batch 2,048, 8 workers: " in line
    assert "Left out: 1 setting that may not fit, by the notes on memory." in line
    assert main(["predict", *words, "device=rtx_4090", "num_workers=4"]) == 0
    line, *_ = capsys.readouterr().out.splitlines()
    assert " 4 workers: " in line
    assert line.endswith("Whether it fits is open: see the notes on memory.")


def test_the_cheapest_spot_machine_is_named_where_it_is_another_than_on_demand(capsys):
    words = (*RESNET, "precision=bf16", "global_batch_size=256", "report.epochs=90")
    assert main(["predict", *words, "device=h100,tpu_v5e_8"]) == 0
    line, *_ = capsys.readouterr().out.splitlines()
    assert "Cheapest, h100 in bf16, batch 256: " in line
    assert "Cheapest as a spot machine, tpu_v5e_8 in bf16, batch 256: " in line
    assert main(["predict", *words, "device=h100,b200"]) == 0
    assert "Cheapest as a spot machine" not in capsys.readouterr().out
    bert = ("workload=bert_base", "precision=fp16", "global_batch_size=32", "report.samples=2200000")
    assert main(["predict", *bert, "device=h100,a100_40"]) == 0
    line, *_ = capsys.readouterr().out.splitlines()
    assert "which is the cheapest" in line
    assert "Cheapest as a spot machine" not in line, "the longer job costs more as one than this on demand"


def test_keys_of_goals_and_limits_are_named_as_ignored_in_a_table(capsys):
    words = (*RESNET, "device=h100", "precision=fp16", "report.epochs=90")
    limits = ("report.goal=cheapest", "report.deadline_hours=20")
    assert main(["predict", *words, *limits]) == 0
    line = "report.goal and report.deadline_hours: not regarded here, but by `predict advise`."
    assert line in capsys.readouterr().out.splitlines()
    assert main(["predict", *words]) == 0
    assert "not regarded" not in capsys.readouterr().out


def test_advice_names_the_devices_that_no_trainer_can_use(capsys):
    words = ("+sweep=single", *RESNET, "precision=bf16", "report.epochs=90")
    assert main(["predict", "advise", *words, "device=h100,tpu_v5e_8,gaudi3"]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "Not compared" in line)
    assert "tpu_v5e_8 in bf16 (torch_ddp does not train on a TPU" in line
    assert "gaudi3 in bf16 (gaudi3 trains with Intel's Gaudi software alone" in line
    assert main(["predict", "advise", *words, "device=h100"]) == 0
    assert "Not compared" not in capsys.readouterr().out
