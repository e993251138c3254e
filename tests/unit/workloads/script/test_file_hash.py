"""Hashes of the files of a trial."""

from pathlib import Path

import pytest

from workloads.script import file_hash
from workloads.script.file_hash import hash_files, hash_like


def test_above_the_most_bytes_parts_of_the_largest_files_are_hashed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_hash, "_MOST_WHOLE_BYTES", 3_000)
    large, small = tmp_path / "large", tmp_path / "small"
    large.write_bytes(bytes(2_000_000))
    small.write_bytes(bytes(2_000))
    hashes = hash_files([large, small, tmp_path / "missing"])
    assert (hashes[small].startswith("parts "), hashes[large].startswith("parts ")) == (False, True)
    assert {path: hash_like(path, hashed) for path, hashed in hashes.items()} == hashes
    large.write_bytes(bytes(1_999_999) + b"1")
    assert hash_like(large, hashes[large]) != hashes[large]


def test_a_file_that_is_gone_has_no_hash(tmp_path: Path) -> None:
    assert hash_like(tmp_path / "missing", "0123") is None
