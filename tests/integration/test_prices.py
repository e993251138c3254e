"""Prices from the command line to the ledger and the report, with trials that compute nothing."""

from pathlib import Path

import pytest
from cli_process import NOOP, ask, records_in


def said(*words: str, cwd: Path) -> str:
    """Return a successful command's output on one line."""
    told = ask(*words, cwd=cwd)
    assert (told.code, told.err) == (0, "")
    return " ".join(told.out.split())


@pytest.mark.more
def test_a_price_is_kept_with_the_record_and_a_report_prices_anew_only_when_asked(tmp_path: Path) -> None:
    first = said(*NOOP, "--full", cwd=tmp_path)
    [kept] = records_in(tmp_path)
    assert kept["price"]["instance"] == "n2-standard-8"
    assert (kept["price"]["node_usd_per_hour"], kept["price"]["as_of"]) == (0.38847, "2026-08-20")
    assert kept["price"]["is_hypothetical"]
    assert "Priced as n2-standard-8 on demand in gcp us-central1, $0.38847/h of 2026-08-20, list" in first

    spot = said("report", "--full", *NOOP, "prices.provisioning=spot", cwd=tmp_path)
    assert "Priced as n2-standard-8 spot in gcp us-central1, $0.12701/h of 2026-08-20, list price" in spot
    assert "Re-priced: not the price stored with the records" in spot

    none = said("report", "--full", *NOOP, "prices=none", cwd=tmp_path)
    assert "prices=none has no prices" in none
    assert "$/M samples" not in none

    frozen = said("report", "--full", *NOOP, cwd=tmp_path)
    assert "$0.38847/h" in frozen
    assert "re-priced" not in frozen
    assert list(records_in(tmp_path)) == [kept]


@pytest.mark.more
def test_another_price_is_no_other_trial(tmp_path: Path) -> None:
    said(*NOOP, "prices=none", cwd=tmp_path)
    assert "1 cached" in said(*NOOP, "prices.region=europe-west4", "prices.provisioning=spot", cwd=tmp_path)
    [kept] = records_in(tmp_path)
    assert kept["price"] == {"reason": "prices=none has no prices"}


@pytest.mark.more
def test_the_host_of_a_list_of_ones_own_is_no_hypothetical_one(tmp_path: Path) -> None:
    folder = tmp_path / "conf" / "prices"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(
        "defaults: [gcp, _self_]\n"
        "this_host: n2-standard-8\n"
        "regions: {us-central1: {instances: {n2-standard-8: "
        "{on_demand: 0.25, as_of: 2026-11-01, source: our contract}}}}\n"
    )
    said(*NOOP, "prices=mine", cwd=tmp_path)
    [kept] = records_in(tmp_path)
    assert (kept["price"]["prices"], kept["price"]["source"]) == ("mine", "our contract")
    assert (kept["price"]["node_usd_per_hour"], kept["price"]["is_hypothetical"]) == (0.25, False)


@pytest.mark.more
def test_a_price_that_looks_like_an_error_stops_the_command(tmp_path: Path) -> None:
    folder = tmp_path / "conf" / "prices"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(
        "defaults: [gcp, _self_]\n"
        "regions: {us-central1: {instances: {n2-standard-8: "
        "{on_demand: 0.16, spot: 0.127, as_of: 2026-11-01, source: a catalogue}}}}\n"
    )
    told = ask(*NOOP, "prices=mine", cwd=tmp_path)
    assert told.code == 2
    assert told.err.startswith(
        "error: conf/prices/mine.yaml: n2-standard-8 in us-central1: spot=0.127 is above 0.75 x on_dem"
    )
    assert not (tmp_path / "outputs").exists()
    said("plan", *NOOP, "prices=mine", "prices.confirm_spot=[n2-standard-8]", cwd=tmp_path)


@pytest.mark.more
def test_failed_attempts_are_billed_and_a_plan_shows_prices(tmp_path: Path) -> None:
    words = (*NOOP, "trainer.fault=raise")
    assert "n2-standard-8 on demand" in said("plan", *words, cwd=tmp_path)
    assert ask(*words, cwd=tmp_path).code == 1
    twice = ask("--rerun-failed", "--full", *words, cwd=tmp_path)
    assert "1 trial cost $" in twice.out
    assert "(with 2 failed attempts)" in twice.out
