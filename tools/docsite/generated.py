"""Parts of pages that are generated from the code when the site is built."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from docsite.command_reference import command_reference
from docsite.config_reference import config_reference, files_of
from docsite.metric_reference import metric_reference

_ROOT = Path(__file__).parents[2]
_MARK = re.compile(r"^<!-- generated: (\w+) -->$", re.MULTILINE)
_NEEDS = re.compile(r"^<!-- needs: (.*) -->$", re.MULTILINE)


@cache
def _configuration() -> str:
    return config_reference(files_of(_ROOT))


_PARTS: Mapping[str, Callable[[], str]] = MappingProxyType(
    {"commands": command_reference, "configuration": _configuration, "metrics": metric_reference}
)


def with_generated_parts(markdown: str) -> str:
    """Return a page with its generated parts, and with a line above each block that needs something."""
    page = _MARK.sub(lambda mark: _PARTS[mark[1]](), markdown)
    return _NEEDS.sub(r'<p class="needs">Needs \1.</p>\n', page)
