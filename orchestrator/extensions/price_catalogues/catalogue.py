"""Commands on the prices of sellers."""

from orchestrator.commands.catalogue.sweeps import JSON
from orchestrator.commands.command_line import Command, Key

COMMANDS = (
    Command(
        name="prices refresh",
        group="Machines",
        arguments="sellers=lambda,nebius",
        summary="Fetch what sellers ask for their machines now.",
        run="orchestrator.extensions.price_catalogues.commands:refresh",
        keys=(
            Key(usage="sellers=aws,lambda", summary="sellers of the catalogue; the others stay as they are"),
            Key(usage="catalogue=gpuhunt", summary="its catalogue, with Google's, in place of SkyPilot's"),
            Key(usage="url=https://HOST/FOLDER", summary="another copy of the catalogue"),
        ),
        examples=("prices refresh", "prices refresh sellers=lambda,nebius"),
    ),
    Command(
        name="prices list",
        group="Machines",
        arguments="device=h100,l4",
        summary="List the known prices of sellers, the cheapest first.",
        run="orchestrator.extensions.price_catalogues.commands:show",
        flags=(JSON,),
        keys=(
            Key(usage="device=h100,l4", summary="devices, by any of their names"),
            Key(usage="region=eu-north1", summary="regions, as sellers call them"),
            Key(usage="sellers=lambda,nebius", summary="sellers"),
            Key(usage="spot=true", summary="only what is sold as spot, too"),
        ),
        examples=("prices list device=h100,h200", "prices list device=h100 spot=true --json"),
    ),
    Command(
        name="prices import",
        group="Machines",
        arguments="file=vms.csv seller=lambda",
        summary="Take a seller's catalogue from a file instead.",
        run="orchestrator.extensions.price_catalogues.commands:import_file",
        keys=(
            Key(usage="file=FILE", summary="CSV, or ZIP of one, as SkyPilot or gpuhunt publish it"),
            Key(usage="seller=NAME", summary="whose prices they are"),
        ),
        examples=("prices import file=vms.csv seller=lambda",),
    ),
)
