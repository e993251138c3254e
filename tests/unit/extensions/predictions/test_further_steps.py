"""Published steps in float8, over several hosts and over PCIe: what is predicted, and what is refused."""

import csv
import math
from dataclasses import replace
from statistics import fmean

import pytest
from further_steps import Held, hold_out
from language_steps import SIZES_BY_MODEL, adapt
from repository import ROOT
from shipped_devices import shipped_catalogue

from orchestrator.core.estimate import Estimate, Refusal
from orchestrator.core.trial_spec import MemorySettings
from orchestrator.extensions.predictions.calibration import DeviceBenchmark
from orchestrator.extensions.predictions.step_time.bundled_models import default_models
from orchestrator.extensions.predictions.step_time.published_estimate import build_published_estimate
from orchestrator.extensions.predictions.step_time.step_query import StepQuery
from workloads.registry import workload

MODELS = default_models()
CATALOGUE = shipped_catalogue()


def ask(device: str, num_workers: int, **changes: object) -> StepQuery:
    sharding = str(changes.pop("sharding", "full"))
    size = changes.pop("size", "8b")
    query = StepQuery(
        spec=workload("llama_style", {"size": size, "sequence_length": 2048}),
        device=CATALOGUE.devices[device],
        precision="bf16",
        num_workers=num_workers,
        global_batch_size=num_workers,
        memory_settings=MemorySettings(sharding=sharding, activation_checkpointing="full"),
    )
    return replace(query, **changes)


def answer(query: StepQuery) -> Estimate:
    step = build_published_estimate(query, MODELS).step
    assert isinstance(step, Estimate), step
    return step


def refuse(query: StepQuery) -> str:
    step = build_published_estimate(query, MODELS).step
    assert isinstance(step, Refusal)
    return step.reason


@pytest.fixture(scope="module")
def held() -> list[Held]:
    return list(hold_out())


def test_no_row_is_there_twice():
    rows = list(csv.reader((ROOT / "tools" / "further_steps.csv").read_text().splitlines()))
    assert len({tuple(row) for row in rows}) == len(rows)


@pytest.mark.more
def test_nine_of_ten_published_times_lie_in_their_intervals(held):
    assert fmean(one.is_inside for one in held) >= 0.9


@pytest.mark.more
def test_several_hosts_are_predicted_within_the_goal(held):
    over_hosts = [one for one in held if one.step.num_hosts > 1]
    assert len({one.step.laboratory for one in over_hosts}) == 2
    assert fmean(abs(math.log(one.ratio)) <= math.log(1.35) for one in over_hosts) >= 0.8


@pytest.mark.more
def test_what_float8_saves_is_that_of_its_pair_in_bf16(held):
    by_setting = {
        (one.step.laboratory, one.step.device, id(one.step.spec), one.query.passes): {} for one in held
    }
    for one in held:
        key = (one.step.laboratory, one.step.device, id(one.step.spec), one.query.passes)
        by_setting[key][one.step.precision] = one
    pairs = [pair for pair in by_setting.values() if len(pair) == 2]
    assert len(pairs) >= 9
    for pair in pairs:
        assert pair["fp8"].ratio / pair["bf16"].ratio == pytest.approx(1, abs=0.12)


def test_shards_over_pcie_take_most_of_a_step_of_few_tokens():
    pcie, nvlink = ask("rtx_4090", 8), ask("a100_80", 8)
    step = answer(pcie)
    assert step.likely > 3 * answer(nvlink).likely  # half of its arithmetic in the same time
    assert step.high / step.likely > 3
    assert "PCIe, of which four machines were published" in step.source
    assert step.past == ""  # that table has none of these
    parts = pcie.parts(MODELS.parts)
    assert parts.exchange > 0.8 * parts.seconds


def test_many_tokens_hide_an_exchange_over_pcie():
    few = answer(ask("rtx_4090", 8))
    settings = MemorySettings(sharding="full", activation_checkpointing="full")
    many = answer(ask("rtx_4090", 8, global_batch_size=64, memory_settings=settings))
    assert many.high / many.likely < few.high / few.likely
    assert many.likely < 3 * few.likely


def test_a_measured_link_replaces_what_is_assumed_of_pcie():
    assumed = ask("rtx_4090", 8)
    measured = replace(assumed, calibration=DeviceBenchmark(driver_name="", exchange_bytes_per_second=2e10))
    assert measured.parts(MODELS.parts).exchange < assumed.parts(MODELS.parts).exchange
    steps = answer(measured), answer(assumed)
    assert steps[0].high / steps[0].likely < steps[1].high / steps[1].likely


def test_several_hosts_need_the_bandwidth_of_their_network():
    assert refuse(ask("h100", 16)) == (
        "the network between hosts is unknown; cluster.network_gbps has the Gb/s of one host"
    )
    assert refuse(ask("h100", 4, num_hosts=2)).startswith("the network between hosts is unknown")
    slow, fast = (answer(ask("h100", 16, network_gbps=rate)) for rate in (100, 3200))
    assert "2 hosts at 100 Gb/s" in slow.source
    assert slow.likely > 5 * fast.likely
    assert fast.likely > answer(ask("h100", 8)).likely


def test_shards_of_a_host_pass_less_over_a_slow_network_than_shards_of_all():
    hybrid, full = (answer(ask("h100", 16, network_gbps=100, sharding=name)) for name in ("hybrid", "full"))
    assert hybrid.likely < 0.6 * full.likely
    assert hybrid.likely > answer(ask("h100", 8)).likely


def test_a_network_faster_than_the_links_leaves_them_as_they_are():
    query = ask("h100", 16, network_gbps=1e5)
    assert query.peaks.link_bytes_per_second == query.device.link_bytes_per_second


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"device": "h100", "num_workers": 256}, "rates are of at most 128 workers, not 256"),
        ({"device": "l40s", "num_workers": 16}, "no published step has several hosts without NVLink"),
    ],
)
def test_what_no_published_step_has_over_hosts_is_refused(changes, reason):
    assert refuse(ask(**changes, network_gbps=400)) == reason


def test_compiled_float8_is_faster_than_bf16_and_less_sure():
    whole = ask("h100", 1, size="1b", sharding="none", global_batch_size=8)
    in_fp8 = answer(replace(whole, precision="fp8", is_compiled=True))
    in_bf16 = answer(whole)
    assert 0.7 * in_bf16.likely < in_fp8.likely < 0.9 * in_bf16.likely
    assert in_fp8.high / in_fp8.likely > 1.15 * in_bf16.high / in_bf16.likely


def test_float8_is_refused_where_no_published_step_is_like_it():
    whole = ask("h100", 1, size="1b", sharding="none", precision="fp8")
    unlike = "published steps in fp8 are compiled, and train all weights of transformers; bf16 is predicted"
    assert refuse(whole) == unlike
    adapters = replace(whole, spec=adapt(SIZES_BY_MODEL["llama3_8b"], 2048), is_compiled=True)
    assert refuse(adapters) == unlike
    older = replace(whole, device=CATALOGUE.devices["a100_80"], is_compiled=True)
    assert refuse(older).startswith("a100_80 has no fp8 arithmetic")


@pytest.mark.parametrize(("device", "precision"), [("v100_32", "fp16"), ("tpu_v4_8", "bf16")])
def test_shards_over_a_link_between_pcie_and_published_nvlink_are_refused(device, precision):
    query = ask(device, 8, size="1b", precision=precision)
    assert not query.crosses_pcie
    assert refuse(query).startswith("published shards are linked by NVLink from 4e+11 bytes a second on")
