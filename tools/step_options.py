"""Options of a workload in a table of measured steps: `image_size=224 num_classes=1000`."""

from orchestrator.core.trial_spec import Option


def build_options(words: str) -> dict[str, Option]:
    """Read options; the value of one that is no whole number is a name."""
    pairs = (word.split("=") for word in words.split())
    return {name: int(value) if value.isdecimal() else value for name, value in pairs}
