"""Commands that the extension adds."""

from orchestrator.commands.catalogue.sweeps import JSON
from orchestrator.commands.command_line import Command, Key

_DATA = (Key(usage="data=PATH", summary="folder of measured latencies; the only override"),)

COMMANDS = (
    Command(
        name="predict transfer",
        group="Predict",
        arguments="data=PATH",
        summary="Predict latencies on one GPU from those on another.",
        run="orchestrator.extensions.profile_transfer.commands:transfer",
        flags=(JSON,),
        keys=_DATA,
        examples=("predict transfer data=my_profiles", "predict transfer data=my_profiles --json"),
    ),
    Command(
        name="predict evaluate",
        group="Predict",
        arguments="data=PATH",
        summary="Measure how good such predictions are.",
        run="orchestrator.extensions.profile_transfer.commands:evaluate",
        flags=(JSON,),
        keys=_DATA,
        examples=(
            "predict evaluate data=$ORCHESTRATOR_DATA/profet",
            "predict evaluate data=$ORCHESTRATOR_DATA/profet --json",
        ),
    ),
)
