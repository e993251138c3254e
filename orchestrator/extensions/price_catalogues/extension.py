"""The extension: catalogues of sellers' prices, fetched or imported, and listed."""

from orchestrator.extension import Extension

_HERE = "orchestrator.extensions.price_catalogues"

EXTENSION = Extension(name="price_catalogues", commands=f"{_HERE}.catalogue:COMMANDS")
