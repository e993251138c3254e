"""Bad files for clusters, as `cluster --check FILE` reads them; and bad price lists."""

import json
from dataclasses import asdict
from functools import cache
from typing import Any

import yaml
from hostile_values import damaged, many, mutated, outcome, plain, texts
from hypothesis import example, given
from hypothesis import strategies as st
from launcher_file_builders import rendered
from shipped_devices import shipped_catalogue

from orchestrator.config.cluster import convert_price_list
from orchestrator.config.schema import PricesConf
from orchestrator.core.errors import ConfigError
from orchestrator.extensions.cluster_files.commands import _findings

FIELDS = {"on_demand": 3.0, "spot": 1.0, "as_of": "2026-08-20", "source": "us", "note": None}
PRICES = {**asdict(PricesConf()), "region": "here"}


@cache
def iterate_texts(pools: str) -> tuple[bytes, str]:
    text = rendered(pools).text
    return text.encode(), json.dumps(list(yaml.safe_load_all(text)), default=str)


@many(60)
@given(pools=st.sampled_from(("gcp", "gke")), data=st.data())
def test_a_damaged_file_is_looked_through_or_refused(pools: str, data: st.DataObject) -> None:
    content = data.draw(damaged(iterate_texts(pools)[0])).decode(errors="replace")
    with outcome(ConfigError):
        list(_findings(content, "a file", shipped_catalogue()))


@many(120)
@given(pools=st.sampled_from(("gcp", "gke")), data=st.data())
def test_a_mutated_cluster_file_is_checked_or_refused(pools: str, data: st.DataObject) -> None:
    documents = data.draw(mutated(json.loads(iterate_texts(pools)[1])))
    content = "\n---\n".join(json.dumps(document) for document in documents)
    with outcome(ConfigError):
        list(_findings(content, "a file", shipped_catalogue()))


@many(60)
@given(st.one_of(texts, plain.map(json.dumps)))
@example("[" * 3000)
@example("- " * 3000)
@example("a: !!timestamp x")
@example("a: !!int x")
@example("a: 2026-99-99")
@example("a: 0x")
@example("a: &a [*a]")
def test_any_text_is_no_file_for_a_cluster(content: str) -> None:
    with outcome(ConfigError):
        list(_findings(content, "a file", shipped_catalogue()))


@many(300)
@given(
    row=st.fixed_dictionaries(
        {
            "on_demand": st.none() | st.floats(),
            "spot": st.none() | st.floats(),
            "as_of": st.none() | texts | st.dates().map(str),
            "source": st.none() | texts,
            "note": st.none() | texts,
        }
    ),
    whole=st.fixed_dictionaries(
        {},
        optional={
            "region": st.none() | texts,
            "billing_seconds": st.floats(),
            "max_age_days": st.integers(),
            "interruptions_per_day": st.none() | st.lists(st.floats(), max_size=3),
            "this_host": st.none() | texts,
            "confirm_spot": st.lists(texts, max_size=2).map(tuple),
            "as_of": st.none() | texts,
            "sellers": st.none() | st.lists(texts, max_size=2),
            "discount": st.dictionaries(texts, st.floats(), max_size=2),
            "own": st.dictionaries(st.just("t4") | texts, st.floats(), max_size=2),
        },
    ),
)
def test_any_price_is_taken_or_refused(row: Any, whole: Any) -> None:
    with outcome(ConfigError):
        convert_price_list(
            {**PRICES, **whole, "regions": {"here": {"instances": {"n2": row}}}},
            option="mine",
            load_devices=lambda: shipped_catalogue().devices,
        )
