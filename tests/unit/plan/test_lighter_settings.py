"""Settings with which a step takes less memory, in the order of their cost in time."""

import pytest

from orchestrator.core.trial_spec import DEFAULT_MEMORY, MemorySettings
from orchestrator.plan import lighter_settings
from orchestrator.plan.lighter_settings import list_lighter_settings


def list_words(workload: str, settings: MemorySettings = DEFAULT_MEMORY, **options: str) -> list[str]:
    return [one.words for one in list_lighter_settings(workload, options, settings)]


def test_blocks_that_can_be_computed_again_are_proposed_unless_they_are() -> None:
    assert list_words("gpt2") == ["activation_checkpointing=full"]
    assert list_words("gpt2", MemorySettings(activation_checkpointing="selective")) == [
        "activation_checkpointing=full"
    ]
    assert list_words("gpt2", MemorySettings(activation_checkpointing="full")) == []
    assert list_words("mnist_cnn") == []


def test_shards_are_proposed_first_where_there_are_replicas() -> None:
    found = list_lighter_settings("gpt2", {}, DEFAULT_MEMORY, replicas=2)
    assert [one.words for one in found] == [
        "sharding=full",
        "activation_checkpointing=full",
        "sharding=full activation_checkpointing=full",
    ]
    hybrid = MemorySettings(sharding="hybrid")
    of_hosts = next(list_lighter_settings("gpt2", {}, hybrid, replicas=8))
    assert of_hosts.words == "sharding=full"
    of_gan = list_lighter_settings("mnist_gan", {}, DEFAULT_MEMORY, replicas=2)
    assert [one.words for one in of_gan] == []


def test_more_devices_that_divide_the_batch_come_before_a_lighter_method(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lighter_settings, "_METHODS", {"gpt2": ("size", ("medium", "small"))})
    settings = MemorySettings(sharding="full", activation_checkpointing="full")
    found = list(
        list_lighter_settings(
            "gpt2", {"size": "medium"}, settings, num_workers=2, replicas=1, global_batch_size=12
        )
    )
    assert [(one.words, one.num_workers) for one in found] == [
        ("num_workers=4", 4),
        ("workload.size=small", 2),
    ]
    assert {one.memory_settings for one in found} == {settings}


def test_more_devices_keep_a_micro_batch_that_divides_their_share() -> None:
    settings = MemorySettings(micro_batch_size=3)
    found = list_lighter_settings("mnist_cnn", {}, settings, num_workers=1, global_batch_size=12)
    assert [one.num_workers for one in found if one.words.startswith("num_workers=")] == [2, 2, 4, 4]


def test_lighter_methods_come_after_checkpointing_and_keep_the_other_options(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    methods = {"gpt2": ("size", ("medium", "small"))}
    monkeypatch.setattr(lighter_settings, "_METHODS", methods)
    options = {"dropout": 0.1, "size": "medium"}
    found = list(list_lighter_settings("gpt2", options, MemorySettings(micro_batch_size=2)))
    assert [one.words for one in found] == [
        "activation_checkpointing=full",
        "workload.size=small",
        "workload.size=small activation_checkpointing=full",
    ]
    assert {one.memory_settings.micro_batch_size for one in found} == {2}
    assert found[-1].workload_options == {"dropout": 0.1, "size": "small"}
    assert list_words("gpt2", size="small") == ["activation_checkpointing=full"]


@pytest.mark.parametrize(
    ("method", "expected"),
    [({}, ["lora", "qlora"]), ({"method": "lora"}, ["qlora"]), ({"method": "qlora"}, [])],
)
def test_methods_that_take_less_than_the_chosen_one_are_proposed(
    method: dict[str, str], expected: list[str]
) -> None:
    found = lighter_settings._list_lighter_methods("causal_lm", {"model": "m", **method})
    assert found == [{"method": name} for name in expected]


def test_a_method_that_cannot_be_described_is_not_proposed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lighter_settings, "_METHODS", {"gpt2": ("size", ("medium", "absent", "small"))})
    found = list(list_lighter_settings("gpt2", {"size": "medium"}, MemorySettings()))
    assert [one.words for one in found] == [
        "activation_checkpointing=full",
        "workload.size=small",
        "workload.size=small activation_checkpointing=full",
    ]
