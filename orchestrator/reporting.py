"""The files of a report, in the folder of its sweep."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from orchestrator.analysis.export import comparisons_frame, csv_of
from orchestrator.analysis.figures import figures_of
from orchestrator.analysis.findings import Findings, findings_of
from orchestrator.analysis.markdown import markdown_of
from orchestrator.analysis.report import render
from orchestrator.core.codec import to_json
from orchestrator.core.placement import Plan
from orchestrator.core.result import TrialRecord
from orchestrator.core.wish import Wish
from orchestrator.images import draw_images, forget_images
from orchestrator.record.base import MARKDOWN_NAME, PAGE_NAME, PLAN_NAME

_IMAGES = "figures"
_NAMES = (PAGE_NAME, MARKDOWN_NAME, "results.csv", "results.parquet", "comparisons.csv", PLAN_NAME)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a command did: every record of the sweep since, what they answer, and the files that tell it.

    Attributes:
        report: the page.
        files: the page, and all others.
        remarks: what else a person must know of the command, in sentences.
    """

    records: tuple[TrialRecord, ...]
    findings: Findings
    report: Path
    files: tuple[Path, ...]
    remarks: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether every trial of the plan has a result."""
        return not self.findings.failed and not self.findings.num_missing


def write_report(
    folder: Path, records: Sequence[TrialRecord], plan: Plan, wish: Wish, *, images: bool = False
) -> Outcome:
    """Work out what the records answer of the plan, and write it as files of every form.

    Args:
        images: whether figures are written as images too, which takes a browser and seconds.
    """
    folder.mkdir(parents=True, exist_ok=True)
    findings = findings_of(records, plan, wish)
    texts = {
        PAGE_NAME: render(sweep=plan.sweep, findings=findings),
        MARKDOWN_NAME: markdown_of(plan.sweep, findings),
        "results.csv": csv_of(findings.frame),
        "comparisons.csv": csv_of(comparisons_frame(findings)),
        PLAN_NAME: to_json(plan),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", errors="backslashreplace")
    if find_spec("pyarrow"):  # it comes with MLflow, which need not be installed
        findings.frame.to_parquet(folder / "results.parquet", index=False)
    forget_images(folder / _IMAGES)
    if images:
        draw_images(figures_of(findings), folder / _IMAGES)
    return Outcome(
        records=tuple(records), findings=findings, report=folder / PAGE_NAME, files=files_in(folder)
    )


def files_in(folder: Path) -> tuple[Path, ...]:
    """The files of a report that are there."""
    named = (path for path in (folder / name for name in _NAMES) if path.exists())
    return (*named, *sorted((folder / _IMAGES).glob("*.png")))
