"""Google Cloud's notice to a spot machine: a trial stops, and runs again on a machine without a notice."""

import time
from threading import Thread

from metadata_server import metadata_server
from noop_trials import context, noop, run

from orchestrator.execute.trial import supervisor
from orchestrator.train.gce_metadata import is_on_compute_engine, is_preempted

KEY = "instance/preempted"


def test_a_notice_stops_the_trial_and_the_next_attempt_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(supervisor, "_SECONDS", 0.2)
    values = {KEY: "FALSE"}

    def give_notice_for_a_while() -> None:
        time.sleep(2.0)
        values[KEY] = "TRUE"

    with metadata_server(values) as address:
        monkeypatch.setenv("GCE_METADATA_HOST", address)
        cloud = Thread(target=give_notice_for_a_while)
        cloud.start()
        (left,) = run(context(tmp_path), noop("hang"))
        cloud.join()
    assert left.failure.kind == "preempted", left.failure
    assert left.failure.message == "rank 0 died of SIGTERM"


def test_a_machine_elsewhere_asks_no_server(tmp_path, monkeypatch):
    monkeypatch.delenv("GCE_METADATA_HOST", raising=False)
    product = tmp_path / "product_name"
    assert not is_on_compute_engine(product)
    product.write_text("Standard PC (Q35 + ICH9, 2009)\n")
    assert not is_on_compute_engine(product)
    product.write_text("Google Compute Engine\n")
    assert is_on_compute_engine(product)


def test_only_true_from_the_metadata_server_is_a_notice(monkeypatch):
    with metadata_server({KEY: "TRUE"}) as address:
        monkeypatch.setenv("GCE_METADATA_HOST", address)
        assert is_preempted()
    assert not is_preempted()
    with metadata_server({}) as address:
        monkeypatch.setenv("GCE_METADATA_HOST", address)
        assert not is_preempted()
