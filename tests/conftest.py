"""Puts the shared builders and the benchmarks on the path of every test; none has a time limit of its own."""

import sys
from pathlib import Path

import hypothesis

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "benchmarks")]

hypothesis.settings.register_profile("any_host", deadline=None)
hypothesis.settings.load_profile("any_host")
