"""Commands that the extension adds."""

from orchestrator.commands.catalogue.sweeps import JSON
from orchestrator.commands.command_line import Command, Key

COMMANDS = (
    Command(
        name="predict split",
        group="Predict",
        arguments="+sweep=NAME trainer=kernel_split",
        summary="Predict whether splitting convolutions is faster.",
        run="orchestrator.extensions.kernel_split.commands:split",
        flags=(JSON,),
        keys=(
            Key(usage="num_workers=2,4", summary="devices that share the convolutions"),
            Key(usage="global_batch_size=256", summary="samples of a step"),
        ),
        examples=(
            "predict split +sweep=paper_kernel_split_mini trainer=kernel_split --json",
            "predict split +sweep=paper_kernel_split trainer=kernel_split",
        ),
    ),
)
