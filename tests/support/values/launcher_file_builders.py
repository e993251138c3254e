"""Healthy files of declared pools, and what is needed to break them in one place."""

from functools import cache
from typing import Any

import yaml
from repository import ROOT

from orchestrator.extensions.cluster_files.commands import Rendered, render

CONF = ROOT
PROJECT = "pools.project=my-project"
BUDGET = "budget.usd=20"
"""Cap on the cost of a job of pools=gke, which its user must state."""


@cache
def rendered(pools: str, *words: str) -> Rendered:
    budget = [BUDGET] if pools == "gke" else []
    return render([f"pools={pools}", PROJECT, *budget, *words], working_directory=CONF)


def pool_names(pools: str) -> list[str]:
    """Name the pools that a file of `conf/pools/` declares, without composing them."""
    return list(yaml.safe_load((ROOT / f"conf/pools/{pools}.yaml").read_text())["nodes"])


def config(pools: str = "gcp") -> Any:
    """The plain values of the declared cluster, for a test to change."""
    first, *others = yaml.safe_load_all(rendered(pools).text)
    job = next((one for one in others if one.get("kind") == "RayJob"), None)
    return job["spec"]["rayClusterSpec"] if job else first


def put(top: Any, key: str, value: Any) -> None:
    """Set the value at a path of keys, divided by slashes, with ~ for a slash; None takes it away."""
    names = [word.replace("~", "/") for word in key.split("/")]
    *path, last = (int(name) if name.isdecimal() else name for name in names)
    for item in path:
        top = top[item]
    if value is None:
        del top[last]
    else:
        top[last] = value
