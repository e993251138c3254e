"""Write the page on the accuracy of transfers between GPUs from an evaluation.

python -m orchestrator predict evaluate data=$ORCHESTRATOR_DATA/profet --json > evaluation.json
python benchmarks/evaluation_page.py evaluation.json > docs/findings/transfer_evaluation.md
"""

import json
import platform
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from orchestrator.extensions.profile_transfer.latency_data.table import find_family

SPLITS = {"leave_one_model_out": "by model", "leave_one_family_out": "by family"}
OURS, THEIRS = "orchestrator", "profet"
_QUARTERS = {"1": "shortest quarter", "2": "second", "3": "third", "4": "longest quarter"}
_LEAST, _MOST = 88.0, 92.0  # percent: the coverage that is aimed at

Parts = Mapping[str, Mapping[str, float]]
"""Name -> mape_percent, coverage_90 and n."""


def page_of(found: Mapping[str, Mapping[str, Mapping[str, Any]]], *, written: str) -> str:
    """Write the page: whole methods, then our method beside PROFET's by model, family, pair and quarter.

    Args:
        found: output of `predict evaluate --json`.
        written: date, and the versions behind the figures.
    """
    n = found[OURS]["leave_one_model_out"]["n"]
    lines = [
        "# Transfers between GPUs, evaluated",
        "",
        "Written by `python benchmarks/evaluation_page.py FILE > docs/findings/transfer_evaluation.md`;",
        "FILE has the output of",
        "`python -m orchestrator predict evaluate data=$ORCHESTRATOR_DATA/profet --json`.",
        f"{written}.",
        "",
        f"Data: published with PROFET (arXiv 2208.05130, `ddps-lab/profet`, MIT), {n:,} predictions under",
        "each split. By model: every model is predicted by training on all others. By family: by training",
        "on no model of its family. Errors are |predicted / measured - 1|, on average. Coverage: share of",
        "measurements in the interval that is to hold 90%.",
        "[How predictions are made](prediction_models.md#from-one-device-to-another),",
        "[how to read these figures](prediction_accuracy.md#from-one-device-to-another).",
    ]
    lines += ["", "## Methods", "", *_methods(found)]
    kinds = {
        "By network": "models",
        "By pair of devices": "pairs",
        "By quarter of the measured step time": "quartiles",
    }
    for title, kind in kinds.items():
        lines += ["", f"## {title}", "", *_parts(_columns(found, kind))]
    families = {key: _by_family(parts) for key, parts in _columns(found, "models").items()}
    lines += ["", "## By family of networks", "", *_parts(families)]
    lines += ["", "## Against PROFET, and against the aims", "", *_verdicts(found)]
    return "\n".join(lines) + "\n"


def _methods(found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Iterable[str]:
    yield "| method | error by model | coverage | error by family | coverage |"
    yield "|---|---|---|---|---|"
    for method, splits in found.items():
        cells = (_cells(splits[split]) for split in SPLITS)
        yield f"| {method} | " + " | ".join(cells) + " |"


def _columns(found: Mapping[str, Mapping[str, Mapping[str, Any]]], kind: str) -> dict[tuple[str, str], Parts]:
    return {(method, split): found[method][split][kind] for split in SPLITS for method in (OURS, THEIRS)}


def _by_family(models: Parts) -> Parts:
    """Mean over the rows of the models of each family."""
    together: dict[str, list[Mapping[str, float]]] = defaultdict(list)
    for model, part in models.items():
        together[find_family(model)].append(part)
    return {
        family: {
            figure: sum(part["n"] * part[figure] for part in parts) / sum(part["n"] for part in parts)
            for figure in ("mape_percent", "coverage_90")
        }
        for family, parts in sorted(together.items())
    }


def _parts(columns: Mapping[tuple[str, str], Parts]) -> Iterable[str]:
    heads = [f"{method}, {SPLITS[split]} | coverage" for method, split in columns]
    yield "| | " + " | ".join(heads) + " |"
    yield "|---" * (1 + 2 * len(heads)) + "|"
    for name in next(iter(columns.values())):
        cells = [_cells(parts[name]) for parts in columns.values()]
        yield f"| {_QUARTERS.get(name, name)} | " + " | ".join(cells) + " |"


def _cells(part: Mapping[str, float]) -> str:
    return f"{part['mape_percent']:.1f}% | {100 * part['coverage_90']:.0f}%"


def _verdicts(found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Iterable[str]:
    for split, name in SPLITS.items():
        ours, theirs = found[OURS][split], found[THEIRS][split]
        ahead = sum(
            part["mape_percent"] < theirs["pairs"][pair]["mape_percent"]
            for pair, part in ours["pairs"].items()
        )
        outside = [
            f"{_QUARTERS.get(part, part)} {100 * figures['coverage_90']:.1f}%"
            for kind in ("pairs", "quartiles")
            for part, figures in ours[kind].items()
            if not _LEAST <= 100 * figures["coverage_90"] <= _MOST
        ]
        yield f"- {name[0].upper()}{name[1:]}: ahead of PROFET on {ahead} of {len(ours['pairs'])} pairs."
        yield (
            f"  Coverage outside {_LEAST:.0f} to {_MOST:.0f}%: "
            + (", ".join(outside) if outside else "none")
            + "."
        )


def main(path: str) -> int:
    file = Path(path)
    measured = datetime.fromtimestamp(file.stat().st_mtime, tz=UTC)
    written = f"Evaluated on {measured:%Y-%m-%d}, Python {platform.python_version()}"
    print(page_of(json.loads(file.read_text()), written=written), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
