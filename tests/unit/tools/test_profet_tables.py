"""Pickles of PROFET become files that are read, and no pickle calls anything else."""

import pickle

import pandas as pd
import profet_tables
import pytest

from orchestrator.extensions.profile_transfer.latency_data.read import read_latencies

POINT = {"exp_name": "exp01", "dataset": "32dataset", "model": "LeNet5", "batchsize": 16}


@pytest.fixture
def clone(tmp_path):
    """A clone with one workload on every instance."""
    for file in profet_tables._FILES:
        place = tmp_path / "clone" / file
        place.parent.mkdir(parents=True, exist_ok=True)
        instance = "p3.2xlarge" if "target" in file else "g4dn.xlarge"
        row = {**POINT, "instance_name": instance, "epoch_latency": 2.0, "batch_latency": 0.01}
        ops = {} if "target" in file else {"Device_Conv2D": 9000.0}
        values = row | ops
        columns = pd.Index(list(values), dtype=object)  # as older versions of pandas have them
        table = pd.DataFrame([list(values.values())], columns=columns, dtype=object)
        place.write_bytes(pickle.dumps(table))
    return tmp_path / "clone"


def test_tables_are_read_as_they_were_published(clone, tmp_path):
    assert profet_tables.main([str(clone), str(tmp_path / "csv")]) == 0
    read = read_latencies(tmp_path / "csv" / "anchor_g4.csv")
    assert read.devices == ("g4dn.xlarge",)
    assert read.rows["step_seconds"].tolist() == [0.01]
    assert len(list((tmp_path / "csv").iterdir())) == 5


def test_an_absent_file_is_one_line(clone, tmp_path, capsys):
    (clone / "data/anchor_data/anchor_p2.pickle").unlink()
    assert profet_tables.main([str(clone), str(tmp_path / "csv")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "anchor_p2.pickle" in error


@pytest.mark.parametrize("called", [print, pd.eval])
def test_a_pickle_with_a_call_that_tables_do_not_need_is_refused_without_calling_it(
    clone, tmp_path, capsys, called
):
    class Call:
        def __reduce__(self):
            return called, ("1",)

    (clone / "data/anchor_data/anchor_g3.pickle").write_bytes(pickle.dumps(Call()))
    assert profet_tables.main([str(clone), str(tmp_path / "csv")]) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert error.endswith(f"{called.__name__}, which no table needs\n")
    assert not (tmp_path / "csv/anchor_g3.csv").exists()
