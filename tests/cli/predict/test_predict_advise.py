"""The command `predict advise`: who leads, what to measure next, and when nothing needs to be."""

import json
import re

import pytest
from builders import record, train_result, trial_spec

from orchestrator.analysis.recommendation.answer.summary import format_sentence
from orchestrator.cli import main
from orchestrator.execute.machine.inventory import local_node
from orchestrator.extensions.predictions.advise import recommend_settings
from orchestrator.extensions.predictions.predict_points import predict_points
from orchestrator.record.ledger import Ledger

VGG = ("workload=vgg16", "workload.image_size=64", "precision=fp32", "device=t4,v100")
BALANCED = (*VGG, "report.goal=balanced")


@pytest.fixture(autouse=True)
def working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def advice(working_directory, *words, confidence=0.9):
    (found,) = recommend_settings(words, confidence=confidence, working_directory=working_directory)
    return found


def measure(working_directory, device, seconds, **changes):
    """A record of that network there, of one sweep of the user's."""
    spec = trial_spec(
        workload="vgg16",
        workload_options={"image_size": 64},
        device=device,
        **{"host_cpu": None, **changes},
    )
    took = train_result(block_seconds=((10 * seconds,) * 6,), cpu_seconds=(60 * seconds,))
    Ledger(working_directory / "outputs/mine/records.jsonl").append(
        record(spec=spec, sweep="mine", result=took, ended_at=1_790_000_000.0 + 30 + 120 * seconds)
    )


def test_a_leader_that_was_only_predicted_is_measured_before_anything_is_settled(working_directory, capsys):
    assert main(["predict", "advise", *VGG]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Not settled, for vgg16 image_size=64 (fastest). No setting is measured that decides. " in out
    assert "Chance to be the best, predicted: v100, fp32" in out
    assert (
        "Next: rent n1-standard-8+1xV100 on demand in gcp us-central1 for v100, fp32 and run it, about "
        in out
    )
    found = advice(working_directory, *VGG)
    assert (found.winner.setting, found.winner.provenance, found.is_clear) == (
        "v100, fp32",
        "predicted",
        False,
    )
    assert [errand.setting for errand in found.errands] == ["v100, fp32"]


def test_what_to_measure_is_shown_with_its_cost_until_the_winner_is_clear(working_directory, capsys):
    assert main(["predict", "advise", *BALANCED, "prices=gcp", "confidence=0.99"]) == 0
    out = capsys.readouterr().out
    assert "Measure next" in out
    assert re.search(
        r"Next: rent \S+ on demand in gcp us-central1 for \S+, fp32 and run it, "
        r"which tells most for its price, about [\d.]+ s and "
        r"\$[\d.e-]+, without set-up and boot\. Boot and install of a rented machine are not included "
        r"\(prices\.start_seconds=\[LOW,HIGH\] adds them\)\. Each start is billed for at least 60 s, "
        r"\$[\d.]+\. Run: python -m orchestrator",
        " ".join(out.split()),
    )
    found = advice(working_directory, *BALANCED, confidence=0.99)
    assert not found.is_clear
    assert len(found.errands) > 1
    assert all(errand.usd > 0 and errand.gain > 0 for errand in found.errands)


@pytest.mark.more
def test_three_of_many_trials_to_measure_are_shown(working_directory, capsys):
    words = ("+sweep=finetune_devices", "device=t4,l4,a10g,v100,a100_40,h100", "report.goal=cheapest")
    found = advice(working_directory, *words, confidence=0.999)
    assert len(found.errands) > 3
    assert main(["predict", "advise", *words, "confidence=0.999"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    shown = [" ".join(errand.command.split()) in out for errand in found.errands]
    assert shown == [number < 3 for number in range(len(shown))]


def test_boot_is_not_mentioned_for_a_present_device(working_directory, capsys):
    measure(working_directory, "cpu", 0.1, host_cpu=local_node(()).host_cpu)
    words = (*VGG[:-1], "device=cpu", "report.epochs=5")
    assert main(["predict", *words]) == 0
    out = capsys.readouterr().out
    assert "priced as n2-standard-8" in out
    assert "boot" not in out
    assert main(["predict", "advise", *words]) == 0
    out = capsys.readouterr().out
    assert "cpu, torch_ddp, fp32" in out
    assert "boot" not in out


@pytest.mark.more
def test_measurements_make_it_clear(working_directory, capsys):
    before = advice(working_directory, *BALANCED, confidence=0.99)
    measure(working_directory, "t4", 0.1)
    one = advice(working_directory, *BALANCED, confidence=0.99)
    measure(working_directory, "v100", 0.02)
    both = advice(working_directory, *BALANCED, confidence=0.99)
    assert {standing.provenance for standing in one.standings} == {"measured", "predicted"}
    assert [before.is_clear, both.is_clear] == [False, True]
    assert (both.winner.setting, both.winner.provenance) == ("v100, torch_ddp, fp32", "measured")
    assert both.winner.likely == pytest.approx(0.02, rel=0.02)
    assert both.errands == ()
    assert both.besides_seconds == pytest.approx(30.0)


def test_trainers_that_were_measured_are_settings_of_their_own(working_directory):
    measure(working_directory, "t4", 0.1)
    measure(working_directory, "t4", 0.08, trainer="tensorflow")
    found = advice(working_directory, *VGG)
    assert {
        standing.setting: standing.likely for standing in found.standings if standing.provenance == "measured"
    } == {
        "t4, torch_ddp, fp32": pytest.approx(0.1, rel=0.02),
        "t4, tensorflow, fp32": pytest.approx(0.08, rel=0.02),
    }


def test_a_measurement_on_another_host_s_cpu_is_none_on_this_one(working_directory):
    words = (*VGG[:3], "device=cpu")
    measure(working_directory, "cpu", 0.01, host_cpu="Server CPU x64")
    assert advice(working_directory, *words).winner is None
    measure(working_directory, "cpu", 0.1, host_cpu=local_node(()).host_cpu)
    assert advice(working_directory, *words).winner.likely == pytest.approx(0.1)


def test_a_measurement_on_more_hosts_is_one_of_as_many(working_directory):
    words = (*VGG[:3], "device=t4", "num_workers=2")
    measure(working_directory, "t4", 0.1, num_workers=2, num_hosts=2, replicas=2)
    (standing,) = advice(working_directory, *words).standings
    assert standing.provenance == "predicted"
    found = advice(working_directory, *words, "num_hosts=1,2")
    assert {standing.setting: standing.provenance for standing in found.standings} == {
        "t4, fp32": "predicted",
        "t4, torch_ddp, fp32, 2 hosts": "measured",
    }


def test_measurements_on_other_data_are_not_compared(working_directory):
    measure(working_directory, "t4", 0.1, data="real:1")
    measure(working_directory, "t4", 0.01, data="synthetic:1")

    def likely(*words):
        found = recommend_settings((*VGG, *words), confidence=0.9, working_directory=working_directory)
        rows = ((item.job, one) for item in found for one in item.standings)
        return {job: one.likely for job, one in rows if one.setting.startswith("t4")}

    name = "vgg16 image_size=64"
    assert likely() == {name: pytest.approx(0.1, rel=0.02)}
    assert likely("data.source=real,synthetic") == {
        f"{name} data.source=real": pytest.approx(0.1, rel=0.02),
        f"{name} data.source=synthetic": pytest.approx(0.01, rel=0.02),
    }


@pytest.mark.more
def test_a_budget_leaves_out_what_it_cannot_pay(working_directory, capsys):
    assert main(["predict", "advise", *BALANCED, "confidence=0.99", "budget.usd=0.000001"]) == 0
    out = capsys.readouterr().out
    assert "No trial within budget.usd=1e-06 would tell much more." in " ".join(out.split())
    every = [errand.usd for errand in advice(working_directory, *BALANCED, confidence=0.99).errands]
    cap = (max(every) + sum(every)) / 2
    told = advice(working_directory, *BALANCED, f"budget.usd={cap}", confidence=0.99).errands
    assert sum(item.usd for item in told) <= cap < sum(every)


@pytest.mark.more
def test_dollars_are_those_of_the_pool_that_has_the_device_and_hypothetical_ones_are_marked(
    working_directory, capsys
):
    words = ("workload=vgg16", "device=t4", "num_workers=4")
    spot = (*words, "cluster=fake")  # two nodes with two spot T4s each
    (alone,), (pooled,) = (
        predict_points(value, working_directory=working_directory) for value in (words, spot)
    )
    assert (alone.price.instance, alone.price.is_hypothetical) == ("n1-standard-8+4xT4", True)
    assert (pooled.price.instance, pooled.price.nodes) == ("n1-standard-8+2xT4", 2)
    assert (pooled.price.provisioning, pooled.price.is_hypothetical) == ("spot", False)
    for name in ("t4", "v100"):
        measure(working_directory, name, 0.1)
    (there,) = recommend_settings((*VGG, "cluster=fake"), confidence=0.9, working_directory=working_directory)
    assert {standing.price_marks for standing in advice(working_directory, *VGG).standings} == {
        "hypothetical"
    }
    assert {standing.price_marks for standing in there.standings} == {""}
    assert main(["predict", "advise", *BALANCED]) == 0
    assert main(["predict", *VGG]) == 0
    assert capsys.readouterr().out.count("list price") >= 2
    assert main(["predict", *VGG, "cluster=fake"]) == 0
    assert "list price" not in capsys.readouterr().out


def test_with_a_target_what_measuring_takes_is_at_most_that(working_directory, capsys):
    assert main(["predict", "advise", *BALANCED, "confidence=0.99", "measure.target=0.9"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Time and dollars are at most" in out
    assert "until accuracy 0.9, which no training reached yet: compared on" in out


def test_a_training_in_phases_is_not_predicted_because_only_its_last_steps_are_timed(
    working_directory, capsys
):
    ledger = Ledger(working_directory / "outputs/mine/records.jsonl")
    spec = trial_spec(workload="mnist_dbn", device="t4", host_cpu=None, steps=400)
    phases = {"pretraining_0": 1.0, "pretraining_1": 1.0, "fine_tuning": 1.0}
    ledger.append(record(spec=spec, sweep="mine", result=train_result(phase_seconds=phases)))
    found = advice(working_directory, "workload=mnist_dbn", "device=t4,v100")
    assert [(item.setting, item.reason) for item in found.left_out] == [
        ("v100, fp32", "it trains in 3 phases, and steps of the last alone are timed")
    ]
    assert (found.state, found.chosen) == ("not settled", "t4, torch_ddp, fp32")
    assert main(["predict", "advise", "workload=mnist_dbn", "device=v100"]) == 0
    assert "Not settled, for mnist_dbn (fastest). No setting can be judged." in capsys.readouterr().out


@pytest.mark.more
def test_trials_of_several_lengths_are_one_job_and_each_target_is_another_job(working_directory):
    def jobs(*words):
        found = recommend_settings((*VGG, *words), confidence=0.9, working_directory=working_directory)
        return {item.job: len(item.standings) for item in found}

    name = "vgg16 image_size=64"
    assert jobs("steps=400") == {name: 2}
    assert jobs("steps=200,400") == {name: 2}
    assert jobs("steps=400", "measure.target=null,0.9") == {
        f"{name} measure.target=None": 2,
        f"{name} measure.target=0.9 to accuracy 0.9": 2,
    }


def test_batch_sizes_are_settings_too_and_compared_by_the_sample(working_directory):
    found = advice(working_directory, *VGG, "global_batch_size=16,256")
    assert len(found.standings) == 4
    assert found.winner.setting == "v100, fp32, batch 256"
    assert "Batch sizes differ" in found.caveats[0]


def test_a_deadline_that_no_setting_meets_is_shown(working_directory, capsys):
    assert main(["predict", "advise", *VGG, "report.goal=cheapest", "report.deadline_hours=0.000001"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "No setting keeps to the limits, for vgg16 image_size=64 (cheapest within 1e-06 h). Fastest" in out


def test_what_is_refused_is_listed_apart_with_what_to_measure(working_directory, capsys):
    assert main(["predict", "advise", "workload=vgg16", "workload.image_size=64", "device=t4,cpu"]) == 0
    out = capsys.readouterr().out
    assert "Not judged" in out
    assert "no CPU of this kind was measured" in out
    assert "1 setting not judged: no CPU of this kind was measured" in " ".join(out.split())
    assert main(["predict", "advise", "device=cpu"]) == 0
    assert "Not settled, for mnist_cnn (fastest). No setting can be judged." in capsys.readouterr().out


def test_without_prices_the_fastest_is_still_advised_on_and_ranked_by_time(working_directory):
    found = advice(working_directory, *VGG, "prices=none", "global_batch_size=64,256", confidence=0.99)
    assert found.errands
    assert found.winner.setting == "v100, fp32, batch 256"
    assert all(errand.usd is None for errand in found.errands)
    assert {standing.usd_per_million_samples for standing in found.standings} == {None}


def test_json_has_one_entry_a_workload(capsys):
    words = ("+sweep=single", "workload=vgg16,lenet5", "device=t4,v100", "budget.usd=5", "confidence=0.8")
    assert main(["predict", "advise", "--json", *words]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [item["job"] for item in found] == ["vgg16", "lenet5"]
    for element in found:
        assert element["winner"] == element["standings"][0]["setting"]
        assert element["state"] == "not settled"
        assert element["is_clear"] is False
        assert element["next_step"]["command"].startswith(
            "python -m orchestrator +sweep=single sweep.name=single-"
        )
        assert (element["budget_usd"], element["confidence"]) == (5, 0.8)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["confidence=2"], "predict advise: confidence=2 must be a number between 0 and 1"),
        (["confidence=often"], "predict advise: confidence=often must be a number between 0 and 1"),
        (
            ["report.goal=cheapest", "prices=none"],
            "report.goal=cheapest needs prices, and prices=none has none",
        ),
        (["--all"], "unknown flag of 'predict advise': '--all'; known: --json"),
    ],
)
def test_a_wrong_request_is_one_line_and_exit_2(capsys, words, message):
    assert main(["predict", "advise", *words]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err


def test_a_request_that_cannot_be_is_one_line(capsys):
    assert main(["predict", "advise", *BALANCED, "confidence=0.99", "steps=0"]) == 2
    assert "steps=0 must be at least 1" in capsys.readouterr().err


def test_what_leads_among_judged_settings_is_not_settled_as_long_as_others_may_be_better(working_directory):
    for batch in (64, 65):
        measure(working_directory, "t4", 0.1 if batch == 64 else 0.5, global_batch_size=batch)
    words = (*VGG, "device=t4,cpu", "global_batch_size=64,65")
    found = advice(working_directory, *words)
    assert (found.state, found.chosen) == ("not settled", "t4, torch_ddp, fp32, batch 64")
    assert "2 settings not judged: no CPU of this kind was measured" in format_sentence(found)


def test_a_setting_that_surely_does_not_fit_keeps_no_answer_open(working_directory):
    words = ("workload=llama_style", "workload.size=1b", "precision=fp16", "global_batch_size=8")
    found = advice(working_directory, *words, "device=t4,h100")
    (left,) = found.left_out
    assert (left.setting, left.may_be_best) == ("t4, fp16", False)
    assert left.reason.startswith("a replica needs at least 40.0 GiB, t4 has 16.0 GiB")
    assert "sharding=full" in left.to_measure


def test_an_input_that_the_network_cannot_take_is_not_judged(working_directory):
    words = ("workload=inception_v3", "workload.image_size=32", "device=t4")
    (left,) = advice(working_directory, *words).left_out
    assert left.reason == "inception_v3 image_size=32 is too small; it takes 75 pixels or more"
