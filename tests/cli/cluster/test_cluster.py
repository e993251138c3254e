"""The command `cluster`: what it prints, and its exit code and lines where something is wrong."""

import os
import subprocess
import sys

import pytest
from cli_process import environment as shells
from launcher_file_builders import BUDGET, PROJECT
from repository import ROOT

from orchestrator.cli import main

GCP = ("cluster", "pools=gcp", PROJECT)


@pytest.fixture(autouse=True)
def working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def file(working_directory, capsys):
    """A file with the rendered pools of gcp in it."""
    assert main(GCP) == 0
    path = working_directory / "cluster.yaml"
    path.write_text(capsys.readouterr().out)
    return path


def test_the_file_shows_where_it_comes_from_and_which_pools_it_leaves_out(file):
    first, second, third, *_ = file.read_text().splitlines()
    assert first == "# Made by: python -m orchestrator cluster pools=gcp pools.project=my-project"
    assert second.endswith("never launched by those who wrote it.")
    assert third.startswith(
        "# Pools of other zones, each zone a cluster of its own: tpu-v2-8 in us-central1-b,"
    )


def test_no_secret_and_no_open_port_is_in_it(file):
    text = file.read_text()
    assert "0.0.0.0" not in text
    assert "RAY_AUTH_TOKEN" not in text
    assert "firewall" not in text


@pytest.mark.more
def test_an_unchanged_file_has_no_diff_and_a_changed_one_shows_its_lines(file, capsys):
    assert main([*GCP, "--diff", str(file)]) == 0
    assert capsys.readouterr().out == ""
    file.write_text(file.read_text().replace("max_workers: 8", "max_workers: 80"))
    assert main([*GCP, "--diff", str(file)]) == 1
    assert "-max_workers: 80\n+max_workers: 8\n" in capsys.readouterr().out


@pytest.mark.more
def test_manifests_are_checked_without_ray(working_directory, capsys):
    assert main(["cluster", "pools=gke", PROJECT, BUDGET]) == 0
    (working_directory / "gke.yaml").write_text(capsys.readouterr().out)
    assert main(["cluster", "--check", "gke.yaml"]) == 0
    assert capsys.readouterr().out == "gke.yaml: no fault found by the offline checks\n"


@pytest.mark.more
def test_every_fault_of_a_file_is_one_line_that_names_the_file(file, capsys):
    broken = file.read_text().replace("project_id: my-project", "project_id: null")
    file.write_text(broken.replace("max_workers: 8", "max_workers: -1"))
    assert main(["cluster", "--check", str(file)]) == 2
    told = capsys.readouterr().err.splitlines()
    assert told[:2] == [
        f"error: {file}: provider.project_id: is missing; give the id of a project",
        f"error: {file}: max_workers: -1 is less than the sum 0 of all min_workers",
    ]


@pytest.mark.more
def test_a_rendering_with_a_mistake_is_not_printed(working_directory, capsys):
    conf = working_directory / "conf" / "pools"
    conf.mkdir(parents=True)
    (conf / "mine.yaml").write_text("defaults: [gcp, _self_]\nregistry: ours\nimage_tag: latest\n")
    assert main(["cluster", "pools=mine", PROJECT]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[0] == (
        "error: pools=mine: docker.image: 'ours/core:latest' is not pinned; "
        "give it a tag, as :0.1.0, or @sha256:…"
    )


@pytest.mark.more
def test_a_check_without_what_ray_s_validators_need_shows_what_to_install(file):
    code = (
        "import sys; sys.modules['google_auth_httplib2'] = sys.modules['googleapiclient'] = None\n"
        f"from orchestrator.cli import main; sys.exit(main(['cluster', '--check', {str(file)!r}]))"
    )
    told = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=shells(PYTHONPATH=f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"),
    )
    assert told.returncode == 2
    assert told.stderr.startswith("error: --check uses Ray's own validators, which need the package 'google")
    assert told.stderr.endswith("'google-api-python-client>=2,<3'\n")


@pytest.mark.more_except("words0", " gcp")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["cluster"],
            "pools=local is this machine, which needs no file; choose pools=gcp or pools=gke",
        ),
        (["cluster", "pools=gpc"], "unknown pools 'gpc'; did you mean 'gcp'? known: fake, gcp, gke, local"),
        (["cluster", "pools=gcp"], "pools.project='' is not a project id; give one, of 6 to 30 lower-case"),
        ([*GCP, "pools.zone=mars-a"], "pools.zone='mars-a': no pool is there; pools are in: us-central1-a, "),
        (
            [*GCP, "pools.nodes.t4.count=3"],
            "conf/pools/gcp.yaml: pool t4: count=3 of t4 is not sold; possible: 1, 2, 4",
        ),
        ([*GCP, "pools.nodes.t4.max_nodes=many"], "pools.nodes.t4.max_nodes='many' must be a whole number"),
        (
            ["cluster", "pools=gke", PROJECT, BUDGET, "pools.nodes.tpu-v5e-8.device=tpu_v2_8"],
            "pool tpu-v5e-8: GKE does not offer tpu_v2_8",
        ),
        (
            [*GCP, "pools.nodes.tpu-v3-8.device=tpu_v7x_8"],
            "pool tpu-v3-8: the software version of tpu_v7x_8 is unknown: runtime in its file",
        ),
        ([*GCP, "device=t4"], "unknown key of 'cluster': 'device'; did you mean"),
        ([*GCP, "pools.head=t4"], "pools.head='t4' must be a device of the kind cpu, with an instance"),
        ([*GCP, "pools.head=t5"], "unknown pools.head 't5'; did you mean 't4'? known: a100_40, "),
        (
            [*GCP, "--chek"],
            "unknown flag of 'cluster': '--chek'; did you mean '--check'?",
        ),
        ([*GCP, "--diff"], "--diff needs a value: --diff FILE"),
        (["cluster", "--check", "none.yaml"], "cannot read 'none.yaml': No such file or directory"),
        ([*GCP, "--diff", "none.yaml"], "cannot read 'none.yaml': No such file or directory"),
        (
            ["cluster", "pools=fake"],
            "pools=fake is this machine, which needs no file; choose pools=gcp or pools=gke",
        ),
        (
            [*GCP, "pools.nodes.t4.environment=any"],
            "pool t4: environment=any has no image; it is for",
        ),
        (
            ["plan", "+sweep=smoke", "pools=gcp"],
            "pools.project='' is not a project id; give one, of 6 to 30 lower-case",
        ),
        (
            ["plan", "+sweep=smoke", "pools=gcp", PROJECT],
            "pools=gcp are nodes of a cluster; set cluster.address=auto on its head, or cluster=fake",
        ),
        (
            ["plan", "+sweep=smoke", "pools=fake", "cluster.address=auto"],
            "pools=fake has fake nodes alone; set cluster=fake",
        ),
        (
            ["plan", "+sweep=smoke", "cluster.address=fake"],
            "cluster.address=fake needs pools; set cluster=fake, or pools=NAME too",
        ),
        (
            ["plan", "+sweep=smoke", "cluster=fake", "executor=inline"],
            "executor=inline runs on this machine alone; cluster.address='fake' needs executor=ray",
        ),
        (
            ["plan", "+sweep=smoke", "sweep.order=cheapest_first", "prices=none"],
            "sweep.order=cheapest_first needs prices, and prices=none has none",
        ),
        (
            ["plan", "+sweep=smoke", "sweep.order=cheapest"],
            "unknown sweep.order 'cheapest'; did you mean 'cheapest_first'?",
        ),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(words, message, capsys):
    assert main(words) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert told.startswith(f"error: {message}")


@pytest.mark.more_except("a: [", "2\\n-")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "is no YAML"),
        ("max_workers: 1\nmax_workers: 2\n", ", line 2: not YAML: the key 'max_workers' appears twice"),
        (
            "name: something else\n",
            " is neither a file of Ray's cluster launcher, with available_node_types, nor",
        ),
        (b"\xff\xfe\x00", "it is not UTF-8 text"),
    ],
)
def test_a_file_of_another_kind_is_shown(text, message, working_directory, capsys):
    path = working_directory / "file.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert main(["cluster", "--check", str(path)]) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert message.replace("is no YAML", "not YAML") in told


@pytest.mark.more_except("words1")
@pytest.mark.parametrize(
    ("words", "is_said"),
    [
        (["cluster.address=auto"], True),
        (["cluster.address=auto", "checkpoint.path=memory://there"], False),
        (["cluster=fake"], False),
    ],
)
def test_checkpoints_that_nodes_may_not_see_are_shown(words, is_said, capsys):
    """Planning asks no cluster."""
    assert main(["plan", "+sweep=smoke", "pools=gcp", PROJECT, "data.source=synthetic", *words]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert ("checkpoint.path=gs://BUCKET/FOLDER is visible to all nodes" in said) == is_said
