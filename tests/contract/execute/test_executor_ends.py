"""Errors that end an executor before its trials: it raises that very error and leaves nothing behind."""

import pytest
from noop_trials import context, noop
from process_tracking import family
from queues import queue_for
from trials import Unwatched

from orchestrator.core.device import Node
from orchestrator.core.errors import PlacementError, RecordError
from orchestrator.core.inventory import of_host
from orchestrator.execute.inline import InlineExecutor

HERE = of_host(Node(name="localhost", cpus=2, cpu_model="Some CPU"))


@pytest.fixture(params=["inline", "ray"])
def executor(request):
    if request.param == "inline":
        return InlineExecutor(HERE)
    return on_ray("local")


def on_ray(address):
    from orchestrator.execute.on_ray.executor import RayTuneExecutor

    return RayTuneExecutor(HERE, address=address)


@pytest.mark.more_cases("ray-error0")
@pytest.mark.slow_cases("ray-error1")
@pytest.mark.parametrize("error", [RecordError("no space left on device"), KeyboardInterrupt()])
def test_an_error_while_a_record_is_kept_ends_the_run(executor, tmp_path, monkeypatch, error):
    def keep(record):
        raise error

    placements = [noop(cpus=1), noop("hang", cpus=1)]
    told = context(tmp_path)
    with family(monkeypatch), pytest.raises(type(error)) as caught:
        executor.run_queue(queue_for(placements, told, HERE), told, Unwatched(), on_record=keep)
    assert caught.value is error


def test_a_cluster_that_is_not_there_is_shown_with_what_is_possible(tmp_path):
    told = context(tmp_path)
    with pytest.raises(PlacementError) as caught:
        on_ray("127.0.0.1:1").run_queue(queue_for([noop()], told, HERE), told, Unwatched(), on_record=print)
    assert str(caught.value) == (
        "no Ray cluster answers at cluster.address='127.0.0.1:1' (Connection refused); "
        "it may be local, auto, or HOST:PORT of one that runs"
    )


@pytest.mark.more
def test_ray_runs_where_the_temporary_folder_has_a_long_name(tmp_path, monkeypatch):
    folder = tmp_path / ("x" * 60)
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    records = []
    told = context(tmp_path)
    on_ray("local").run_queue(queue_for([noop()], told, HERE), told, Unwatched(), on_record=records.append)
    assert [record.failure for record in records] == [None]
    assert list(folder.iterdir()) == []
