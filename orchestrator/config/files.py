"""Files in `conf/` that are too large to be read, or that grow as they are read, are refused unread."""

import re
from collections.abc import Iterable
from pathlib import Path

from hydra._internal.config_repository import ConfigRepository
from hydra.core.config_search_path import ConfigSearchPath
from hydra.plugins.config_source import ConfigResult

from orchestrator.core.errors import ConfigError
from workloads.data.files import require_regular

MOST_BYTES = 250_000
"""The reader is slow: a list of that size takes ten seconds, and ours take milliseconds."""

MOST_ALIASES = 20
"""Aliases of aliases multiply: with so many at most to a thousand values, with 80 to a thousand million."""

_ALIAS = re.compile(rb"(?:^|[\s\[,{:])\*[\w-]", re.MULTILINE)


class CheckedFiles(ConfigRepository):
    """Hydra's config files in those folders."""

    def __init__(self, places: ConfigSearchPath, folders: Iterable[Path]) -> None:
        super().__init__(places)
        self._folders = tuple(folders)

    def load_config(self, config_path: str) -> ConfigResult | None:
        """Read one. Raises ConfigError for one that is too large, or no regular file."""
        for folder in self._folders:
            file = folder / f"{config_path.removesuffix('.yaml')}.yaml"
            if file.exists():
                _check(file, name=f"conf/{config_path}.yaml")
        return super().load_config(config_path)


def _check(file: Path, *, name: str) -> None:
    try:
        require_regular(file)
    except OSError as error:
        raise ConfigError(f"{name} cannot be read: {error.strerror}") from error
    size = file.stat().st_size
    if size > MOST_BYTES:
        raise ConfigError(
            f"{name} has {size:,} bytes, and a config file at most {MOST_BYTES:,}; "
            "a list of numbers of any length may stand on the command line"
        )
    count = len(_ALIAS.findall(file.read_bytes()))
    if count > MOST_ALIASES:
        raise ConfigError(f"{name} has {count} aliases (*NAME), and a config file at most {MOST_ALIASES}")
