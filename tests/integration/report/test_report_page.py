"""The page in a real browser: it draws, fits, asks the net for nothing, and runs nothing of a record."""

import csv
import re
import zlib
from itertools import pairwise

import pytest
from browser_pages import CHROMIUM, opened, page_of
from kernel_split_builders import split_sweep
from report_builders import hostile, measured, plan_of, tpu_vs_gpu

from orchestrator.analysis.findings import collect_findings
from orchestrator.analysis.report.page import render

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe here to check pages with")
driver = pytest.importorskip("playwright.sync_api", reason="no Playwright here to drive a browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here to open the page with")

CASES = {"tpu_vs_gpu": tpu_vs_gpu, "hostile": hostile, "split": split_sweep}
WIDTHS, THEMES = (360, 1024, 1440), ("light", "dark")


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


@pytest.mark.more_except("tpu_vs_gpu-360-light", "tpu_vs_gpu-1440-light")
@pytest.mark.slow_cases("1024", "360-dark", "split-1440", "hostile-1440-dark")
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("case", CASES)
def test_the_page_draws_and_fits_without_a_word_or_a_request(browser, tmp_path, case, width, theme):
    with opened(browser, page_of(CASES[case]), tmp_path, width=width, theme=theme) as found:
        wide = found.page.evaluate("document.documentElement.scrollWidth")
        shown = found.page.locator("figure").evaluate_all(SHOWN)
        unfold(found.page)
        cut = found.page.locator(".drawn svg").evaluate_all(CUT)
    assert (found.console, found.requests) == ([], [])
    assert shown == [1] * len(shown)
    assert len(shown) >= 2
    assert wide <= width
    assert cut == []


def test_the_labels_of_an_axis_stand_over_its_plots_and_do_not_touch(browser, tmp_path):
    for width in (768, 1024, 1200, 1440):
        with opened(browser, page_of(tpu_vs_gpu), tmp_path, width=width) as found:
            axes = found.page.evaluate(AXES)
        assert len(axes) == (2 if width <= 1200 else 3)
        for axis in axes:
            assert axis["plots"] == [axis["place"]], (width, axis)
            ends = axis["labels"]
            assert all(left[1] < right[0] for left, right in pairwise(ends)), (width, axis)


AXES = """() => [...document.querySelectorAll(".settings svg.axis")].filter(
  axis => axis.clientWidth
).map(axis => {
  const place = one => Math.round(one.getBoundingClientRect().left);
  const column = axis.closest("th").cellIndex;
  const cells = [...axis.closest("table").tBodies[0].rows].map(row => row.cells[column]);
  return {
    place: place(axis),
    plots: [...new Set(cells.map(one => one.querySelector("svg.plot")).filter(one => one).map(place))],
    labels: [...axis.querySelectorAll("text")].map(text => text.getBoundingClientRect()).map(
      box => [box.left, box.right]),
  };
})"""
"""Left edges of the labels and the plots of every column of the first table, in pixels."""

SHOWN = """figures => figures.filter(figure => !figure.querySelector("details")).map(figure =>
  [...figure.querySelectorAll(".drawn")].filter(one => one.getBoundingClientRect().height > 40).length)"""
"""How many of its drawings every figure shows."""

CUT = """drawings => drawings.flatMap(drawing => {
  const frame = drawing.getBoundingClientRect();
  return [...drawing.querySelectorAll("text")].filter(text => {
    const box = text.getBoundingClientRect();
    return frame.width && (box.left < frame.left - 0.5 || box.right > frame.right + 0.5);
  }).map(text => text.textContent);
})"""
"""Labels that are cut at the edge of their drawing."""


@pytest.mark.more_except("1440-dark")
@pytest.mark.slow_cases("hostile", "split")
@pytest.mark.parametrize(("width", "theme"), [(390, "light"), (1440, "dark")])
@pytest.mark.parametrize("case", CASES)
def test_the_page_is_accessible(browser, tmp_path, case, width, theme):
    with opened(browser, page_of(CASES[case]), tmp_path, width=width, theme=theme) as found:
        unfold(found.page)
        result = axe.Axe().run(found.page, options={"runOnly": WCAG})
    assert [(rule["id"], rule["nodes"][0]["html"][:200]) for rule in result.response["violations"]] == []
    assert len(result.response["passes"]) > 20


def unfold(page):
    """Open every part of the page that is shown on demand."""
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")


WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def test_the_first_screen_answers_which_setting_how_much_how_sure_and_what_next(browser, tmp_path):
    for width in (1024, 1440):
        with opened(browser, page_of(tpu_vs_gpu), tmp_path, width=width) as found:
            for words in (
                "is the best of what ran for mnist_cnn",
                "cpu, torch_ddp, bf16",
                "per million samples",
                "to be the best of all",
                "python -m orchestrator next +sweep=example",
            ):
                box = found.page.get_by_text(words).first.bounding_box()
                assert box["y"] + box["height"] < 900, (width, words)


def test_the_first_screen_of_a_phone_has_the_answer_its_price_and_the_next_command(browser, tmp_path):
    with opened(browser, page_of(tpu_vs_gpu), tmp_path, width=390) as found:
        for words in ("is the best of what ran for mnist_cnn", "$0.13", "python -m orchestrator next"):
            box = found.page.get_by_text(words).first.bounding_box()
            assert box["y"] + box["height"] < 850, words


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
        assert "hacked" not in found.page.title().replace("document.title='hacked'", "")
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
    return render(sweep="example", findings=collect_findings(records, plan_of(records)))


def trainers(page):
    return page.locator("#measured tbody tr td:nth-child(2)").all_inner_texts()


CAME = ["torch_ddp", "torch_xla", "tensorflow"]


@pytest.mark.more_except("samples/s-ascending0-descending0")
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
        found.page.locator("#measured").get_by_label("all columns").check()
        button = found.page.get_by_role("button", name=header, exact=True)
        told = found.page.locator("#measured th").filter(has=button)
        for order, expected in (("ascending", ascending), ("descending", descending), ("none", CAME)):
            told.locator("button").click()
            assert trainers(found.page) == expected
            assert told.get_attribute("aria-sort") == order
            assert found.page.locator("#measured th[aria-sort$=ending]").count() == (order != "none")


@pytest.mark.more_except("Enter")
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
        unfold(found.page)
        choice = found.page.locator("#measured").get_by_label("Order of rows")
        choice.select_option("samples/s, ascending")
        assert trainers(found.page) == CAME[::-1]
        choice.select_option("as in the report")
        assert trainers(found.page) == CAME


def test_a_total_stays_below_in_any_order(page):
    unfold(page)
    costs = page.get_by_role("table", name="Cost")
    for _ in range(3):
        costs.get_by_role("button", name="$", exact=True).click()
        assert costs.get_by_role("row").last.inner_text().startswith("all of them")


def long_page():
    records = [measured(steps=300 + index, step_seconds=0.01 + index * 1e-4) for index in range(60)]
    return render(sweep="example", findings=collect_findings(records, plan_of(records)))


def visible_rows(table):
    return table.locator("tbody tr").evaluate_all("rows => rows.filter(row => row.offsetHeight).length")


def test_a_long_table_shows_ten_rows_until_it_is_asked_for_all(browser, tmp_path):
    with opened(browser, long_page(), tmp_path) as found:
        table = found.page.locator("#measured table")
        assert visible_rows(table) == 10
        found.page.locator("#measured").get_by_role("button", name="Show all 60 rows").click()
        assert visible_rows(table) == 60
        found.page.locator("#measured").get_by_role("button", name="Show 10 rows").click()
        assert visible_rows(table) == 10


def test_details_of_a_table_are_shown_when_asked_for(page):
    section = page.locator("#measured")
    header = section.get_by_role("columnheader", name="final loss")
    assert header.count() == 0
    section.get_by_label("all columns").check()
    assert header.count() == 1


def test_settings_are_filtered_and_their_marks_fade(page):
    table = page.locator("table.settings")
    assert visible_rows(table) == 7
    page.locator(".job").get_by_label("precision").select_option("bf16")
    assert visible_rows(table) == 3
    shown = page.locator("table.settings tbody tr:not(.hidden)").evaluate_all(
        "rows => rows.map(row => row.id)"
    )
    marks = page.locator(".drawn.wide [data-row]:not(.off)").evaluate_all(
        "marks => marks.map(mark => mark.dataset.row)"
    )
    assert set(marks) == set(shown)


def test_another_length_of_the_job_changes_time_and_cost_in_proportion(page):
    def times():
        return page.locator("td.job-time").evaluate_all(
            "cells => cells.map(cell => Number(cell.dataset.value))"
        )

    before, words = times(), page.locator("td.job-time").first.inner_text()
    page.locator(".job").get_by_label("samples", exact=False).first.fill("9000000")
    assert page.locator(".epochs").input_value() == "150"
    longer = times()
    assert all(9 < new / old <= 10.001 for new, old in zip(longer, before, strict=True))
    page.locator(".epochs").fill("15")
    assert page.locator("td.job-time").first.inner_text() == words
    page.locator(".slider").evaluate(
        "slider => { slider.value = 8; slider.dispatchEvent(new Event('input')); }"
    )
    assert page.locator(".samples").input_value() == "100000000"


def test_a_table_is_copied_as_csv_with_values_and_inert_texts(browser, tmp_path):
    with opened(browser, page_of(tpu_vs_gpu), tmp_path) as found:
        found.page.evaluate("navigator.clipboard.writeText = async words => { window.words = words; }")
        found.page.locator("#measured").get_by_role("button", name="Copy as CSV").click()
        rows = list(csv.DictReader(found.page.evaluate("words").splitlines()))
    assert len(rows) == 6
    assert all(float(row["samples/s"]) > 1000 for row in rows)


def test_a_mark_lights_its_row(page):
    mark = page.locator(".drawn.wide [data-row]").first
    row = page.locator(f'[id="{mark.get_attribute("data-row")}"]')
    mark.dispatch_event("pointerenter")
    assert "lit" in row.get_attribute("class")
    mark.dispatch_event("pointerleave")
    assert "lit" not in row.get_attribute("class")


def test_the_first_tab_stop_skips_to_the_settings(page):
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to settings and figures"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "every-setting-of-mnist-cnn"


def test_a_reader_of_the_screen_finds_landmarks_tables_and_figures_by_name(page):
    assert page.get_by_role("main").count() == 1
    title = page.get_by_role("banner").get_by_role("heading", level=1).inner_text()
    assert title.endswith("t4, fp32 is probably 4.4x as fast.")
    links = page.get_by_role("navigation", name="Contents").get_by_role("link").all_inner_texts()
    headings = page.get_by_role("heading", level=2).all_inner_texts()
    assert sorted(headings) == sorted(["Contents", *links])
    unfold(page)
    for title in ("Measured", "Failed", "Rehearsed", "Skipped"):
        assert page.get_by_role("table", name=title, exact=True).get_by_role("columnheader").count() > 1
    for words in ("Marks of 7 settings. The likely front: ", "Curves of", "Timeline of", "Bars of"):
        assert page.get_by_role("img", name=words).count() == 1


def test_what_has_the_focus_is_outlined(page):
    for stop in (page.get_by_role("link").nth(1), page.get_by_role("button").first):
        stop.focus()
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Tab")
        assert stop.evaluate("each => getComputedStyle(each).outlineStyle") == "solid"


def test_without_scripts_the_page_is_whole_but_for_what_they_add(browser, tmp_path):
    with opened(browser, page_of(tpu_vs_gpu), tmp_path, scripts=False) as found:
        assert found.page.locator("table").count() == 15
        assert found.page.get_by_role("button").count() == 0
        assert found.page.locator(".drawn.wide svg").count() == 2
        assert not found.page.locator(".controls").first.is_visible()
        assert visible_rows(found.page.locator("#measured table")) == 6


@pytest.mark.slow
def test_a_report_of_ten_thousand_records_is_small_and_soon_usable(browser, tmp_path):
    records = [
        measured(trainer, precision=precision, global_batch_size=batch, steps=300 + steps, repeat=repeat)
        for steps in range(50)
        for trainer in ("torch_ddp", "tensorflow")
        for precision in ("fp32", "bf16")
        for batch in (64, 128, 256, 512, 1024)
        for repeat in range(10)
    ]
    markup = render(sweep="example", findings=collect_findings(records, plan_of(records)))
    assert len(markup.encode()) < 3_000_000
    with opened(browser, markup, tmp_path) as found:
        timing = found.page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
        found.page.locator("#measured").get_by_role("button", name="samples/s", exact=True).click()
        assert timing < 10_000  # 1 s on a quiet core; a shared one takes longer


@pytest.mark.more
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
