"""The question of a sweep in one line, made of what its settings differ in. Pure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from orchestrator.analysis.formatting import counted
from orchestrator.analysis.recommendation.answer.answer import Recommendation

_MOST_NAMES = 4
_AXES: Mapping[str, str] = {
    "trainer": "trainer",
    "precision": "precision",
    "global_batch_size": "batch size",
    "num_workers": "number of workers",
    "num_hosts": "number of hosts",
}
_OTHER = "options"


def build_question(recommendation: Recommendation) -> str:
    """Ask for what differs: `cpu, t4 or v100 for mnist_cnn?`, `Which precision for resnet50 on h100?`."""
    devices = [device for device in dict.fromkeys(one.device for one in recommendation.standings) if device]
    if 1 < len(devices) <= _MOST_NAMES:
        return f"{_listed(devices, 'or')} for {recommendation.job}?"
    if len(devices) > _MOST_NAMES:
        return f"Which of {counted(len(devices), 'device')} for {recommendation.job}?"
    on = f" on {devices[0]}" if devices else ""
    levels: dict[str, set[str]] = defaultdict(set)
    for one in recommendation.standings:
        for key, level in one.factors.items():
            levels[key].update(filter(None, [level]))
    varied = dict.fromkeys(_AXES.get(key, _OTHER) for key, found in levels.items() if len(found) > 1)
    if not varied:
        return f"What does {recommendation.job} take{on}?"
    return f"Which {_listed(list(varied), 'and')} for {recommendation.job}{on}?"


def question_of_all(recommendations: Sequence[Recommendation]) -> str:
    """Ask for all jobs of a sweep."""
    if len(recommendations) == 1:
        return build_question(recommendations[0])
    return f"Which setting for each of {counted(len(recommendations), 'job')}?"


def _listed(names: Sequence[str], last: str) -> str:
    *others, end = names
    return f"{', '.join(others)} {last} {end}" if others else end
