"""Characters that MLflow accepts in the name of a metric, parameter or tag. Pure."""

import re

_NOT_IN_A_KEY = re.compile(r"[^\w./:\- ]")  # MLflow refuses a run for one such character


def key_of_name(name: str) -> str:
    """Return the name with `_` for every character that MLflow refuses."""
    return _NOT_IN_A_KEY.sub("_", name)
