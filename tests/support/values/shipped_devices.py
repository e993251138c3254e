"""Devices of conf/device with their prices, read once in a test process."""

from functools import cache

from repository import ROOT

from orchestrator.config.cluster import load_cluster
from orchestrator.core.pool import Catalogue


@cache
def shipped_catalogue() -> Catalogue:
    """The catalogue with which commands start; composing it takes as long as a hundred tests."""
    return load_cluster((), working_directory=ROOT)[1]
