"""Flags of every command: help, version, and those of Hydra."""

from orchestrator.commands.command_line import Flag

HELP = Flag(name="--help", short="-h", summary="show this help; after a command, the help of that command")
VERSION = Flag(name="--version", summary="print the version")
CONFIG_DIR = Flag(
    name="--config-dir",
    short="-cd",
    value="DIR",
    summary="search DIR for config files, then the shipped ones",
)
CONFIG_NAME = Flag(
    name="--config-name", short="-cn", value="NAME", summary="compose NAME.yaml in place of config.yaml"
)
CFG = Flag(
    name="--cfg",
    short="-c",
    value="PART",
    choices=("job", "hydra", "all"),
    summary="print the composed config and end: job, hydra or all",
)
RESOLVE = Flag(name="--resolve", summary="with --cfg: replace interpolations by their values")
PACKAGE = Flag(name="--package", short="-p", value="KEY", summary="with --cfg: print one part, as `trainer`")
INFO = Flag(
    name="--info",
    short="-i",
    value="[WHAT]",
    choices=("all", "config", "defaults", "defaults-tree", "plugins", "searchpath"),
    summary="print how the config is composed: all, searchpath ...",
)
HYDRA_HELP = Flag(name="--hydra-help", summary="print Hydra's own help")
MULTIRUN = Flag(name="--multirun", short="-m", summary="no effect: a list of values is always a grid")
RUN = Flag(name="--run", short="-r", summary="no effect: a command always runs")

CONFIG_FLAGS = (CFG, RESOLVE, PACKAGE, INFO, CONFIG_DIR, CONFIG_NAME, MULTIRUN)
"""Flags of Hydra that the help lists."""

INSTEAD = {
    "--config-path": "--config-path would replace the shipped files; --config-dir DIR adds those of DIR",
    "-cp": "-cp would replace the shipped files; --config-dir DIR adds those of DIR",
    "--shell-completion": "--shell-completion is Hydra's and knows no commands; type: "
    'eval "$(orchestrator completion bash)"',
    "-sc": '-sc is Hydra\'s completion and knows no commands; type: eval "$(orchestrator completion bash)"',
    "--experimental-rerun": "--experimental-rerun has no effect: a finished trial is kept; "
    "--rerun TRIAL_ID runs one again",
}
"""Flag of Hydra without a meaning here -> error message with the words to type."""

SHARED_FLAGS = (HELP, VERSION, HYDRA_HELP, RUN, *CONFIG_FLAGS)
