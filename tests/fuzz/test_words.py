"""Bad words of a command line, before any config file is read."""

from hostile_values import TEXTS, many, outcome, scalars, texts
from hypothesis import example, given
from hypothesis import strategies as st

from orchestrator.commands.catalogue.catalogue import list_commands
from orchestrator.commands.catalogue.shared_flags import SHARED_FLAGS
from orchestrator.commands.command_line import parse
from orchestrator.config.overrides import read
from orchestrator.config.request import classify_overrides
from orchestrator.config.workload_overrides import extract_workload_overrides
from orchestrator.core.errors import ConfigError

GRAMMAR = st.text(alphabet="abz019.,:=+~-[]{}()'\"\\$@/ _\n\t", max_size=30)
KEYS = st.sampled_from(
    ("steps", "+sweep", "sweep.grid.seed", "+sweep.grid.seed", "~sweep.grid.seed", "tracking.uri", "outputs")
)


def options(_group: str) -> tuple[str, ...]:
    return ("one", "two")


def format_words(values: st.SearchStrategy[object]) -> st.SearchStrategy[str]:
    return st.builds("{}={}".format, KEYS, values)


@many(900)
@given(st.one_of(format_words(GRAMMAR), format_words(scalars), GRAMMAR, texts))
@example("steps=" + "[" * 2_000)
@example("steps=" + "x" * 10_000_000)
@example("steps=[" + "1.5," * 100_000 + "1]")
@example("steps=[" + "1," * 100_000 + "1]")
@example("steps=" + "range(1,2)," * 20_000)
@example("steps=" + "9" * 100_000)
@example("steps=range(0,1e18)")
@example("steps=" + "{a:" * 2_000)
def test_any_word_is_an_override_or_refused(word: str) -> None:
    with outcome(ConfigError):
        for item in read([word], options=options):
            classify_overrides([item])


@many(500)
@given(
    st.lists(
        st.one_of(
            texts,
            GRAMMAR,
            st.sampled_from(("plan", "predict", "advise", "--all", "--rerun", "--check", "-m", "-i", "-cd")),
        ),
        max_size=4,
    )
)
def test_any_line_has_one_command_and_its_flags_or_is_refused(words: list[str]) -> None:
    with outcome(ConfigError):
        parse(words, list_commands(), shared=SHARED_FLAGS)


@many(200)
@given(st.one_of(texts, GRAMMAR, st.sampled_from(TEXTS)))
def test_any_workload_path_is_folders_or_refused(value: str) -> None:
    with outcome(ConfigError):
        extract_workload_overrides([f"workload_path={value}"])
