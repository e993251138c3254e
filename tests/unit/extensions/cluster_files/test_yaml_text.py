"""YAML files are read in time that grows with their length."""

import time

import pytest

from orchestrator.core.errors import ConfigError
from orchestrator.extensions.cluster_files.files.yaml_text import from_yaml


def seconds_for(num_keys: int) -> float:
    text = "".join(f"key{number}: 1\n" for number in range(num_keys))
    start = time.process_time()
    (document,) = from_yaml(text, name="file")
    assert len(document) == num_keys
    return time.process_time() - start


def test_four_times_the_keys_take_about_four_times_as_long():
    """The search of each key among all of them took sixteen times as long."""
    assert seconds_for(16_000) < 8 * min(seconds_for(4_000) for _ in range(3))


def test_the_line_of_a_key_that_appears_twice_is_named():
    with pytest.raises(ConfigError, match=r"^file, line 3: not YAML: the key 'a' appears twice$"):
        from_yaml("a: 1\nb: 2\na: 3\n", name="file")
