"""The page in a real browser: it draws, fits, asks the net for nothing, and runs nothing of a record."""

import re
import zlib

import pytest
from browser_pages import CHROMIUM, opened, page_of
from kernel_split_builders import split_sweep
from report_builders import hostile, measured, plan_of, tpu_vs_gpu

from orchestrator.analysis.findings import findings_of
from orchestrator.analysis.report.page import render

driver = pytest.importorskip("playwright.sync_api", reason="no Playwright here to drive a browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here to open the page with")

CASES = {"tpu_vs_gpu": tpu_vs_gpu, "hostile": hostile}
NUM_FIGURES = 6


@pytest.fixture(scope="module")
def browser():
    with driver.sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND"],
        )
        yield launched
        launched.close()


@pytest.fixture
def page(browser, tmp_path):
    """The page of a sweep, 1280 pixels wide."""
    with opened(browser, page_of(tpu_vs_gpu), tmp_path) as found:
        yield found.page


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize("case", CASES)
def test_the_page_draws_and_fits_without_a_word_or_a_request(browser, tmp_path, case, width, theme):
    with opened(browser, page_of(CASES[case]), tmp_path, width=width, theme=theme) as found:
        wide = found.page.evaluate("document.documentElement.scrollWidth")
        drawn = found.page.locator(".plot .main-svg:first-child").count()
        empty = found.page.locator(".plot").evaluate_all(MARKLESS)
        covered = found.page.locator(".plot").evaluate_all(COVERED)
    assert (found.console, found.requests) == ([], [])
    assert (drawn, empty, covered) == (NUM_FIGURES, [], [])
    assert wide <= width


@pytest.mark.parametrize(("width", "theme"), [(360, "dark"), (1280, "light")])
def test_curves_of_split_convolutions_have_room_beside_their_legends(browser, tmp_path, width, theme):
    with opened(browser, page_of(split_sweep), tmp_path, width=width, theme=theme) as found:
        drawn = found.page.get_by_role("img", name="Lines over").count()
        empty = found.page.locator(".plot").evaluate_all(MARKLESS)
        covered = found.page.locator(".plot").evaluate_all(COVERED)
        wide = found.page.evaluate("document.documentElement.scrollWidth")
    assert (found.console, drawn, empty, covered) == ([], 4, [], [])
    assert wide <= width


MARKLESS = (
    "plots => plots.filter(each => !each.querySelector('.point, .js-line')).map(each => each.dataset.plot)"
)
"""Figures without a bar, a mark or a line."""

COVERED = """plots => plots.filter(each => {
  const [legend, grid] = [".legend", ".gridlayer"].map(part => each.querySelector(part)
    .getBoundingClientRect());
  return legend.bottom > grid.top + 2 || grid.height < 40;
}).map(each => each.dataset.plot)"""
"""Figures whose legend lies over them, or which it leaves no room."""


def test_a_page_that_errs_asks_and_overflows_is_caught_by_these_tests(browser, tmp_path):
    markup = '<p style="width: 3000px">wide<img src="http://127.0.0.1:9/x.png"><script>nothing()</script>'
    with opened(browser, markup, tmp_path) as found:
        wide = found.page.evaluate("document.documentElement.scrollWidth")
        found.page.wait_for_load_state()
    assert any("nothing is not defined" in name for name in found.console)
    assert wide > 1280
    assert "http://127.0.0.1:9/x.png" in "".join(found.requests)


def test_no_attack_is_carried_out_and_all_are_drawn_as_text(browser, tmp_path):
    with opened(browser, page_of(hostile), tmp_path) as found:
        assert found.page.locator("img").count() == 0
        assert found.page.title() == "example: report"
        words = found.page.locator("svg text").all_text_contents()
    assert any("</script><img src=x" in word for word in words)


def unequal():
    """Three trainings: one of them has no price, and all have the same loss."""
    rates = {"torch_ddp": 12_000, "torch_xla": 7_000, "tensorflow": 900}
    priced = tpu_vs_gpu()[0][0].price
    records = [
        measured(trainer, step_seconds=64 / rate, price=None if trainer == "torch_ddp" else priced)
        for trainer, rate in rates.items()
    ]
    return render(sweep="example", findings=findings_of(records, plan_of(records)))


def trainers(page):
    return page.locator("#measured tbody tr td:nth-child(2)").all_inner_texts()


CAME = ["torch_ddp", "torch_xla", "tensorflow"]


@pytest.mark.parametrize(
    ("header", "ascending", "descending"),
    [
        ("samples/s", CAME[::-1], CAME),  # as text 12,000 comes before 7,000
        ("trainer", sorted(CAME), sorted(CAME, reverse=True)),
        ("$/M samples", ["torch_xla", "tensorflow", "torch_ddp"], ["tensorflow", "torch_xla", "torch_ddp"]),
        ("final loss", CAME, CAME),
    ],
)
def test_a_table_is_sorted_by_value_and_the_third_press_restores_it(
    browser, tmp_path, header, ascending, descending
):
    with opened(browser, unequal(), tmp_path) as found:
        button = found.page.get_by_role("button", name=header, exact=True)
        told = found.page.locator("#measured th").filter(has=button)
        for order, expected in (("ascending", ascending), ("descending", descending), ("none", CAME)):
            told.locator("button").click()
            assert trainers(found.page) == expected
            assert told.get_attribute("aria-sort") == order
            assert found.page.locator("#measured th[aria-sort$=ending]").count() == (order != "none")


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_a_key_sorts_as_the_mouse_does_and_keeps_the_focus(browser, tmp_path, key):
    with opened(browser, unequal(), tmp_path) as found:
        found.page.locator("#measured").get_by_role("button", name="samples/s").focus()
        found.page.keyboard.press(key)
        assert trainers(found.page) == CAME[::-1]
        found.page.keyboard.press(key)
        assert trainers(found.page) == CAME
        assert found.page.evaluate("document.activeElement.textContent") == "samples/s"


def test_cards_of_a_narrow_screen_are_sorted_by_a_choice(browser, tmp_path):
    with opened(browser, unequal(), tmp_path, width=360) as found:
        choice = found.page.locator("#measured").get_by_label("Order of rows")
        choice.select_option("samples/s, ascending")
        assert trainers(found.page) == CAME[::-1]
        choice.select_option("as in the report")
        assert trainers(found.page) == CAME


def test_a_total_stays_below_whatever_the_order(page):
    costs = page.get_by_role("table", name="Cost")
    for _ in range(3):
        costs.get_by_role("button", name="$", exact=True).click()
        assert costs.get_by_role("row").last.inner_text().startswith("all of them")


def test_a_long_table_scrolls_in_its_own_box_under_its_header(browser, tmp_path):
    records = [measured(steps=300 + index, step_seconds=0.01 + index * 1e-4) for index in range(60)]
    markup = render(sweep="example", findings=findings_of(records, plan_of(records)))
    with opened(browser, markup, tmp_path) as found:
        box = found.page.get_by_role("region", name="Measured")
        box.focus()
        box.evaluate("each => each.scrollTo(0, 900)")
        header = found.page.locator("#measured thead th").first
        assert box.evaluate("each => each.scrollTop") == 900
        assert box.bounding_box()["height"] <= 0.8 * 800
        assert header.bounding_box()["y"] == pytest.approx(box.bounding_box()["y"], abs=1)


def test_the_first_tab_stop_skips_to_the_tables(page):
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to tables and figures"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "settings-of-the-job"


def test_a_reader_of_the_screen_finds_landmarks_tables_and_figures_by_name(page):
    assert page.get_by_role("main").count() == 1
    assert page.get_by_role("banner").get_by_role("heading", level=1).inner_text() == "example"
    links = page.get_by_role("navigation", name="Contents").get_by_role("link").all_inner_texts()
    headings = page.get_by_role("heading", level=2).all_inner_texts()
    assert headings == ["Contents", *links]
    for title in ("Measured", "Failed", "Rehearsed", "Skipped"):
        assert page.get_by_role("table", name=title, exact=True).get_by_role("columnheader").count() > 1
    for words in ("Bars of 6 settings: fastest cpu, torch_ddp", "Curves of", "Timeline of"):
        assert page.get_by_role("img", name=words).count() == 1


def test_what_has_the_focus_is_outlined(page):
    for stop in (page.get_by_role("link").nth(1), page.get_by_role("button").first):
        stop.focus()
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Tab")
        assert stop.evaluate("each => getComputedStyle(each).outlineStyle") == "solid"


def test_without_scripts_the_page_is_whole_but_for_sorting(browser, tmp_path):
    with opened(browser, page_of(tpu_vs_gpu), tmp_path, scripts=False) as found:
        assert found.page.get_by_role("table").count() == 14
        assert found.page.get_by_role("button").count() == 0
        assert found.page.locator("noscript").count() == NUM_FIGURES


def test_the_figures_are_dark_on_white_when_a_dark_page_is_printed(browser, tmp_path):
    with opened(browser, page_of(tpu_vs_gpu), tmp_path, theme="dark") as found:
        found.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert tick_colour(found.page) == "rgb(0, 0, 0)"
        found.page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert tick_colour(found.page) == "rgb(230, 233, 237)"


def tick_colour(page):
    return page.locator(".xtick text").first.evaluate("each => getComputedStyle(each).fill")


def test_it_prints_on_some_pages_each_with_text(page):
    paper = page.pdf(format="A4")
    assert 4 <= len(re.findall(rb"/Type /Page\b", paper)) <= 12
    assert sum(stream.count(b" Tj") for stream in streams_of(paper)) > 300
    page.emulate_media(media="print")
    printed = page.locator("body").inner_text()
    assert "cpu, torch_ddp, bf16" in printed
    assert "worker" in printed
    assert not page.get_by_role("navigation").is_visible()
    assert page.locator("#cost table").evaluate("each => getComputedStyle(each).display") == "table"


def streams_of(paper):
    """The compressed streams of a PDF, unpacked."""
    packed = re.findall(rb"/FlateDecode[^>]*>>\s*stream\r?\n(.*?)endstream", paper, re.DOTALL)
    return [zlib.decompressobj().decompress(item) for item in packed]
