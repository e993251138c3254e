"""Files of packages, found in an index on this machine that pip is told to use."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from web_server import Site, serving

from workloads.data.download import DownloadError
from workloads.data.package_index import find_url

PAGE = b"""<!DOCTYPE html><html><body>
<a href="../../packages/ab/Some_Data-0.4.zip#sha256=00">Some_Data-0.4.zip</a><br/>
<a href="../../packages/cd/Some_Data-0.5.zip#sha256=11" data-requires-python="&gt;=3">Some_Data-0.5.zip</a>
</body></html>"""


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Site]:
    """An index with one package, on a machine where pip is not set up to use any."""
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX", "PIP_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS"):
        monkeypatch.setenv(name, str(tmp_path))
    with serving() as site:
        site.files["/simple/some-data/"] = PAGE
        monkeypatch.setenv("PIP_INDEX_URL", f"{site.url}/simple")
        yield site


def test_a_file_is_found_where_the_index_links_to_it(index: Site) -> None:
    assert find_url("Some_Data", "Some_Data-0.5.zip") == f"{index.url}/packages/cd/Some_Data-0.5.zip"


def test_an_extra_index_is_asked_when_the_first_does_not_have_it(
    index: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", f"{index.url}/empty")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"{index.url}/simple/")
    assert find_url("some.data", "Some_Data-0.4.zip") == f"{index.url}/packages/ab/Some_Data-0.4.zip"


def test_pips_configuration_names_the_index_unless_a_variable_does(
    index: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("PIP_INDEX_URL")
    chosen = tmp_path / "chosen.conf"
    chosen.write_text(f"[global]\nindex-url = {index.url}/simple\n")
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "pip.conf").write_text("[global]\nindex-url = http://127.0.0.1:9/\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(chosen))
    assert find_url("some-data", "Some_Data-0.4.zip").startswith(index.url)
    monkeypatch.setenv("PIP_INDEX_URL", f"{index.url}/other")
    with pytest.raises(DownloadError, match=r"/other/some-data/ cannot be read: HTTP Error 404"):
        find_url("some-data", "Some_Data-0.4.zip")


def test_a_file_that_no_index_offers_is_shown(index: Site) -> None:
    expected = rf"^{index.url}/simple/some-data/ offers no Some_Data-0\.6\.zip$"
    with pytest.raises(DownloadError, match=expected):
        find_url("some-data", "Some_Data-0.6.zip")


def test_pip_without_an_index_is_refused_without_a_request(
    index: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(DownloadError, match=r"^pip has no index that could offer Some_Data-0\.5\.zip$"):
        find_url("some-data", "Some_Data-0.5.zip")
    assert index.asked == []


def test_a_configuration_that_cannot_be_read_is_shown(
    index: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "broken.conf").write_text("index-url = nowhere\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "broken.conf"))
    with pytest.raises(DownloadError, match=r"^pip's configuration cannot be read: File contains no section"):
        find_url("some-data", "Some_Data-0.5.zip")
