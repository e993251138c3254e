"""A bidirectional LSTM that classifies IMDB's film reviews as positive or negative.

Its sources and our assumptions are in workloads/families/text.py.
"""

from workloads.families.text import TextOptions, text_classifier
from workloads.spec import WorkloadSpec

VERSION = 1
Options = TextOptions


def make(options: TextOptions) -> WorkloadSpec:
    """Spell the task out."""
    return text_classifier("imdb_bilstm", options, cell="lstm", version=VERSION)
