"""(settings without a prediction, measured ones) -> the next setting of a space-filling design. Pure.

The first is the one nearest to the middle of the factors, and every further one lies farthest from those that
were measured or run: the maximin design of Johnson, Moore and Ylvisaker 1990, one setting after the other.
"""

from collections.abc import Collection, Sequence

import numpy as np

from orchestrator.analysis.recommendation.model.candidate import CandidateSetting, Job
from orchestrator.analysis.recommendation.model.factors import compute_features


def next_of_design(
    job: Job, unseen: Sequence[CandidateSetting], running: Collection[str]
) -> CandidateSetting:
    """Choose the next setting; of equally far ones the first.

    Args:
        unseen: settings that may be chosen, at least one.
        running: labels of settings with running trials.
    """
    features = compute_features(job.candidates)
    rows = {one.label: row for row, one in enumerate(job.candidates)}
    choices = features[[rows[one.label] for one in unseen]]
    seen = [row for row, one in enumerate(job.candidates) if one.is_seen or one.label in running]
    if not seen:
        middle = np.square(choices - features.mean(axis=0)).sum(axis=1)
        return unseen[int(middle.argmin())]
    between = np.square(choices[:, np.newaxis] - features[seen][np.newaxis]).sum(axis=2)
    return unseen[int(np.round(between.min(axis=1), 9).argmax())]
