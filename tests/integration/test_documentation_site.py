"""The documentation site, built and read in a browser."""

import os
import subprocess
import sys

import pytest
from browser_pages import CHROMIUM
from playwright.sync_api import sync_playwright
from repository import ROOT
from web_server import serving_folder

pytestmark = pytest.mark.more

PAGES = (
    "",
    "tutorials/quick_start/",
    "reference/configuration/",
    "reference/python/",
    "notebook/",
    "decisions/",
)


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The address of the site, built as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    built = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    with serving_folder(folder) as found:
        yield found


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("no Chromium is here")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (390, "dark")])
def test_pages_fit_the_window_and_ask_no_other_server(address, browser, width, theme):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
    page, asked, said = context.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    for place in PAGES:
        page.goto(f"{address}/{place}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, place
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (paper == "rgb(255, 255, 255)") == (theme == "light")
    context.close()
    assert not [url for url in asked if not url.startswith(address)]
    assert not said


def test_a_search_finds_the_key_of_a_budget_in_the_reference(address, browser):
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(address)
    page.keyboard.press("/")
    page.keyboard.type("budget.usd_per_trial")
    found = page.locator(".md-search-result__item a")
    found.first.wait_for(timeout=15_000)
    pages = [link.get_attribute("href") for link in found.all()]
    assert any("reference/configuration" in address for address in pages)
    page.close()
