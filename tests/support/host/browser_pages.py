"""A report's page, opened in a real browser."""

import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache

from orchestrator.analysis.findings import collect_findings
from orchestrator.analysis.report.page import render

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@dataclass
class Opened:
    """A page of the browser, with what its console said and what it asked the net for."""

    page: object
    console: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@cache
def page_of(case):
    """The page of a case: records and their plan."""
    records, plan = case()
    return render(sweep="example", findings=collect_findings(records, plan))


@contextmanager
def opened(browser, markup, folder, *, width=1280, theme="light", scripts=True):
    """Open markup as a file."""
    path = folder / "report.html"
    path.write_text(markup)
    view = {"width": width, "height": 800}
    context = browser.new_context(viewport=view, color_scheme=theme, java_script_enabled=scripts)
    try:
        found = Opened(context.new_page())
        found.page.set_default_timeout(10_000)
        found.page.on("console", lambda message: found.console.append(message.text))
        found.page.on("pageerror", lambda error: found.console.append(str(error)))
        found.page.on("request", lambda request: found.requests.append(request.url))
        found.page.goto(path.as_uri())
        found.requests = [url for url in found.requests if not url.startswith(("file:", "data:", "blob:"))]
        yield found
    finally:
        context.close()
