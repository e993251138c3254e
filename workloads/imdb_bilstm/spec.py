"""A bidirectional LSTM that tells praise from blame in IMDB's film reviews.

What is known of it and what is assumed here is in workloads/families/text.py.
"""

from workloads.families.text import TextOptions, text_classifier
from workloads.spec import WorkloadSpec

VERSION = 1
Options = TextOptions


def make(options: TextOptions) -> WorkloadSpec:
    """Spell the task out."""
    return text_classifier("imdb_bilstm", options, cell="lstm", version=VERSION)
