"""Hydra's own words are answered by Hydra, and leave nothing behind."""

import hydra.version
import pytest
from cli_process import ask

from orchestrator.config.hydra_cli import hydra_main, is_hydra_flag
from orchestrator.core.errors import ConfigError


@pytest.fixture
def answer(tmp_path, capsys):
    def answer(*argv):
        assert hydra_main(argv, working_directory=tmp_path) == 0
        assert not list(tmp_path.iterdir())
        return capsys.readouterr().out

    return answer


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (("--cfg", "job"), True),
        (("--cfg=job", "+sweep=smoke"), True),
        (("-h",), True),
        (("+sweep=smoke", "-m"), False),
        (("plan", "+sweep=smoke", "--all"), False),
    ],
)
def test_hydras_words_are_told_from_ours(argv, expected):
    assert is_hydra_flag(argv) is expected


def test_the_composed_config_is_shown_and_hydras_version_base_left_as_it_was(answer):
    hydra.version.setbase("1.2")
    shown = answer("--cfg", "job", "sweep=smoke", "device=t4", "seed=3")
    assert "name: t4" in shown
    assert "seed: 3\n" in shown
    assert "hydra:" not in shown
    assert str(hydra.version.getbase()) == "1.2"


def test_help_lists_the_groups(tmp_path):
    # In a process of its own: Hydra's help sets up logging, and a handler of absl's then closes stderr.
    assert "tracking: mlflow, none" in ask("--help", cwd=tmp_path).out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("--cfg", "job", "device=t5"), "unknown device in conf/config.yaml: 't5'; did you mean 't4'"),
        (("--cfg", "job", "device=cpu,t4"), "ambiguous value for argument 'device=cpu,t4'"),
        (("--cfg", "jobs"), "argument --cfg/-c: invalid choice: 'jobs'"),
        (
            ("--cfg", "job", "--config-dir", "x"),
            "--config-dir, --config-path and --config-name have no effect",
        ),
        (("--shell-completion", "foo=1"), "expecting one subcommand from ['install', 'uninstall', 'query']"),
    ],
)
def test_what_hydra_cannot_understand_is_one_line(tmp_path, argv, message):
    with pytest.raises(ConfigError) as raised:
        hydra_main(argv, working_directory=tmp_path)
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


def test_a_package_that_does_not_exist_is_one_line(tmp_path):
    with pytest.raises(ConfigError, match=r"^package 'nothing' not found in config$"):
        hydra_main(("--cfg", "job", "--package", "nothing"), working_directory=tmp_path)


def test_words_are_not_abbreviated(tmp_path):
    with pytest.raises(ConfigError, match=r"^unrecognized arguments: --vers; "):
        hydra_main(("--cfg", "job", "--vers"), working_directory=tmp_path)
