"""Downloads from a server on this machine: whole, broken off and continued, wrong, and slow."""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from web_server import Site, serving

from workloads.data.download import DownloadError, download, public, text_at

CONTENT = bytes(range(256)) * 4000


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as site:
        site.files["/data.bin"] = CONTENT
        yield site


def expecting(content: bytes) -> Callable[[Path], str | None]:
    def trouble_with(path: Path) -> str | None:
        same = hashlib.sha256(path.read_bytes()).digest() == hashlib.sha256(content).digest()
        return None if same else "it is another file"

    return trouble_with


def get(site: Site, folder: Path, **options: object) -> bytes:
    download(f"{site.url}/data.bin", folder / "data.bin", trouble_with=expecting(CONTENT), **options)
    assert [path.name for path in folder.iterdir()] == ["data.bin"]
    return (folder / "data.bin").read_bytes()


def test_a_download_shows_how_far_it_is_and_leaves_one_file(site: Site, tmp_path: Path) -> None:
    told: list[tuple[int, int | None]] = []
    assert get(site, tmp_path, progress=lambda done, total: told.append((done, total))) == CONTENT
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_a_broken_download_is_continued_where_it_stopped(site: Site, tmp_path: Path) -> None:
    site.breaks_after["/data.bin"] = 1000
    expected = rf"^download of {site.url}/data\.bin failed: .* 1000 of 1024000 bytes; the next try continues$"
    with pytest.raises(DownloadError, match=expected):
        get(site, tmp_path)
    assert (tmp_path / ".data.bin.part").read_bytes() == CONTENT[:1000]
    assert get(site, tmp_path) == CONTENT
    assert [asked for _, asked, _ in site.asked] == [None, "bytes=1000-"]


def test_a_server_that_cannot_continue_sends_all_of_it_again(site: Site, tmp_path: Path) -> None:
    (tmp_path / ".data.bin.part").write_bytes(CONTENT[:1000])
    site.knows_ranges = False
    assert get(site, tmp_path) == CONTENT


@pytest.mark.parametrize("kept", [b"something else", CONTENT + b"more"])
def test_what_was_kept_of_another_file_is_thrown_away(site: Site, tmp_path: Path, kept: bytes) -> None:
    (tmp_path / ".data.bin.part").write_bytes(kept)
    assert get(site, tmp_path) == CONTENT


def test_a_file_other_than_expected_is_refused_and_leaves_no_file(site: Site, tmp_path: Path) -> None:
    site.files["/data.bin"] = b"not what was published"
    with pytest.raises(DownloadError, match=r"^download of .*/data\.bin failed: it is another file$"):
        get(site, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_download_out_of_time_keeps_what_it_has(site: Site, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"out of time after [1-9]\d* bytes; the next try continues$"):
        get(site, tmp_path, limit_seconds=0)
    assert CONTENT.startswith((tmp_path / ".data.bin.part").read_bytes())
    assert get(site, tmp_path) == CONTENT


def test_an_answer_of_the_server_that_is_no_file_is_shown(site: Site, tmp_path: Path) -> None:
    del site.files["/data.bin"]
    with pytest.raises(DownloadError, match=r"failed: HTTP Error 404: Not Found$"):
        get(site, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_does_not_exist_is_shown(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"^http://127\.0\.0\.1:9/index cannot be read: .*refused"):
        text_at("http://127.0.0.1:9/index")
    assert list(tmp_path.iterdir()) == []


def test_user_and_password_are_sent_as_a_header_and_are_not_in_messages(site: Site) -> None:
    site.files["/page"] = b"hello"
    secret = site.url.replace("//", "//me:s%20ecret@")
    assert text_at(f"{secret}/page") == "hello"
    assert site.asked == [("/page", None, "Basic bWU6cyBlY3JldA==")]
    assert public(secret) == site.url
    with pytest.raises(DownloadError, match=rf"^{site.url}/nothing cannot be read: HTTP Error 404"):
        text_at(f"{secret}/nothing")


@pytest.mark.parametrize("tells", [True, False])
def test_a_file_that_is_too_large_is_refused_and_leaves_no_file(
    site: Site, tmp_path: Path, tells: bool
) -> None:
    site.tells_length = tells
    with pytest.raises(DownloadError, match=r"^download of .* failed: it is larger than 300,000 bytes$"):
        get(site, tmp_path, limit_bytes=300_000)
    assert list(tmp_path.iterdir()) == []


def test_a_password_follows_a_redirect_on_its_server_and_to_no_other(site: Site) -> None:
    with serving() as other:
        site.files["/near"] = other.files["/far"] = b"hello"
        site.redirects = {"/here": f"{site.url}/near", "/there": f"{other.url}/far"}
        secret = site.url.replace("//", "//me:secret@")
        assert text_at(f"{secret}/here") == text_at(f"{secret}/there") == "hello"
        assert [password for *_, password in site.asked] == ["Basic bWU6c2VjcmV0"] * 3
        assert [password for *_, password in other.asked] == [None]


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/x", "data:,x", "x"])
def test_a_url_that_is_neither_http_nor_https_is_refused(url: str) -> None:
    with pytest.raises(DownloadError, match=r"cannot be read: '\w*' is neither http nor https$"):
        text_at(url)


def test_a_redirect_leads_to_no_other_scheme(site: Site) -> None:
    site.redirects = {"/here": "ftp://127.0.0.1/x"}
    with pytest.raises(DownloadError, match=r"cannot be read: 'ftp' is neither http nor https$"):
        text_at(f"{site.url}/here")


def test_an_address_that_is_none_shows_no_password() -> None:
    with pytest.raises(DownloadError, match=r"^http://\[bad/x cannot be read: Invalid IPv6 URL$"):
        text_at("http://me:secret@[bad/x")
