"""Links that lead out of the site."""

import pytest
from docs_links import addresses_of, fault_of, main
from web_server import serving_folder


@pytest.fixture
def address(tmp_path):
    """The address of a server of the site."""
    with serving_folder(tmp_path) as found:
        yield found


def test_a_link_that_leads_nowhere_is_shown(tmp_path, address, capsys):
    links = f'<a href="{address}/">x</a><a href="{address}/absent">y</a><a href="search/">z</a>'
    (tmp_path / "index.html").write_text(links)
    assert addresses_of(tmp_path) == (f"{address}/", f"{address}/absent")
    assert fault_of(f"{address}/") is None
    assert main([str(tmp_path)]) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith(f"{address}/absent: HTTP Error 404")
    assert told[1:] == ["2 links, 1 lead nowhere"]


@pytest.mark.parametrize("words", [[], ["absent"]])
def test_a_site_that_is_not_built_is_a_wrong_request(words, capsys):
    assert main(words) == 2
    assert capsys.readouterr().err.startswith("docs_links: give the folder of the built site")
