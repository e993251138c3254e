"""The page in a real browser: it draws, it asks the net for nothing, and it runs nothing of a record."""

import html
import json
import re
import shutil
import subprocess

import pytest
from report_cases import hostile, tpu_vs_gpu

from orchestrator.analysis.findings import findings_of
from orchestrator.analysis.report import render

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here to open the page with")


def opened(page, folder):
    """Open a page: the document as the browser leaves it, its console, and what it asked the net for."""
    path, net_log = folder / "report.html", folder / "net.json"
    path.write_text(page)
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
    command += [f"--user-data-dir={folder / 'profile'}", "--host-resolver-rules=MAP * ~NOTFOUND"]
    command += [
        "--virtual-time-budget=5000",
        "--enable-logging=stderr",
        f"--log-net-log={net_log}",
        "--dump-dom",
    ]
    done = subprocess.run([*command, path.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    console = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    return done.stdout, console, requests_of(json.loads(net_log.read_text()))


def requests_of(net_log):
    """What documents asked for; the browser's own requests have no origin."""
    asked = [event["params"] for event in net_log["events"] if "initiator" in event.get("params", {})]
    urls = {each["url"] for each in asked if each["initiator"] != "not an origin"}
    return {url for url in urls if not url.startswith(("file:", "data:"))}


def page_of(case):
    records, plan = case()
    return render(sweep="example", findings=findings_of(records, plan))


@pytest.fixture(scope="module", params=[tpu_vs_gpu, hostile], ids=["tpu_vs_gpu", "hostile"])
def browser(request, tmp_path_factory):
    return opened(page_of(request.param), tmp_path_factory.mktemp("browser"))


def test_every_figure_is_drawn(browser):
    document, _, _ = browser
    plots = document.split('data-plot="')[1:]
    assert len(plots) == 3
    assert all('class="main-svg"' in each for each in plots)
    assert 'class="point"' in plots[0]  # a bar
    assert 'class="point"' in plots[1]  # a setting by its time and quality
    assert 'class="js-line"' in plots[2]  # a curve


def test_the_console_is_silent(browser):
    _, console, _ = browser
    assert console == []


def test_the_page_asks_the_net_for_nothing(browser):
    _, _, requests = browser
    assert requests == set()


def test_no_attack_is_carried_out(browser):
    document, _, _ = browser
    assert "<img" not in document
    assert re.search(r"<title>(.*?)</title>", document)[1] == "example: report"


def test_an_attack_is_drawn_as_the_text_that_it_is(tmp_path):
    document, _, _ = opened(page_of(hostile), tmp_path)
    drawn = [
        html.unescape(each) for each in re.findall(r"<text[^>]*data-unformatted=[^>]*>([^<]*)<", document)
    ]
    assert any("</script><img src=x" in each for each in drawn)


def test_a_page_that_errs_and_asks_is_caught_by_these_tests(tmp_path):
    _, console, requests = opened('<img src="http://127.0.0.1:9/x.png"><script>nothing()</script>', tmp_path)
    assert "nothing is not defined" in "".join(console)
    assert requests == {"http://127.0.0.1:9/x.png"}
