"""Command line of the tools that write the bundled files."""

import condense_profiles
import fit_bundled_models
import pytest

TOOLS = pytest.mark.parametrize("tool", [fit_bundled_models, condense_profiles])


@pytest.fixture(autouse=True)
def working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_fitting_needs_the_published_networks(working_directory, capsys):
    (working_directory / "mine.csv").write_text("device,model,batch_size,step_seconds\nt4,vgg16,32,0.1\n")
    assert fit_bundled_models.main(["mine.csv"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "error: mine.csv: none of the published devices g3s.xlarge" in err


@TOOLS
def test_a_file_that_a_tool_cannot_read_is_one_line_and_exit_2(tool, working_directory, capsys):
    assert tool.main(["nowhere"]) == 2
    assert capsys.readouterr().err == "error: data='nowhere' is neither a file nor a folder\n"


@TOOLS
@pytest.mark.parametrize(
    ("words", "message"),
    [([], "the following arguments are required: data"), (["a", "b"], "unrecognized arguments: b")],
)
def test_a_wrong_command_line_is_one_line_and_exit_2(tool, words, message, capsys):
    with pytest.raises(SystemExit) as ended:
        tool.main(words)
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"error: {message}; possible: ")


@TOOLS
def test_the_help_shows_the_command(tool, capsys):
    with pytest.raises(SystemExit) as ended:
        tool.main(["--help"])
    assert ended.value.code == 0
    assert f"python tools/{tool.__name__}.py $ORCHESTRATOR_DATA/profet > " in capsys.readouterr().out
