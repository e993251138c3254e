"""Ask `predict` what a user would ask, and count the answers, the refusals and the errors.

    python benchmarks/questions.py > docs/findings/prediction_questions.md
    python benchmarks/questions.py --fine-tuning > docs/findings/fine_tuning_questions.md

Some questions have a published answer. The bundled models are fitted to these rates too: their errors are no
test on unseen data, which docs/findings/prediction_accuracy.md has. It takes a minute or two, and ten for
those about fine-tuning, which build models of up to 70 billion parameters without their weights.
"""

import math
import os
import platform
import re
import shlex
import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.core.errors import ConfigError
from orchestrator.core.estimate import Estimate
from orchestrator.extensions.predictions.predict_points import predict_points

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
from fine_tuning_questions import Expected, fine_tuning_questions
from imagenet_rates import NUM_CLASSES, RATES
from transformer_rates import TRANSFORMER_RATES

_SETTINGS = (
    "sharding=",
    "activation_checkpointing=",
    "micro_batch_size=",
    "global_batch_size=",
    "cluster.network_gbps=",
)
_LARGE = "workload.image_size=224 workload.num_classes=1000"
_UNPUBLISHED = (
    f"workload=resnet50 {_LARGE} device=t4 precision=bf16 global_batch_size=64",
    f"workload=resnet50 {_LARGE} device=g4dn.xlarge precision=fp16 global_batch_size=128",
    f"workload=resnet50 {_LARGE} device=p3.2xlarge precision=fp16 global_batch_size=256",
    f"workload=resnet50 {_LARGE} device=p3.8xlarge precision=fp16 global_batch_size=512",
    f"workload=resnet50 {_LARGE} device=a2-highgpu-1g precision=bf16 global_batch_size=256",
    f"workload=resnet50 {_LARGE} device=v100 precision=fp32 global_batch_size=1024",
    f"workload=resnet50 {_LARGE} device=l4 precision=bf16 global_batch_size=64",
    f"workload=resnet50 {_LARGE} device=rtx_4090 precision=fp16 global_batch_size=128",
    f"workload=resnet18 {_LARGE} device=t4 precision=fp32 global_batch_size=128",
    f"workload=resnet34 {_LARGE} device=a10g precision=fp16 global_batch_size=128",
    f"workload=vgg16 {_LARGE} device=l40s precision=fp16 global_batch_size=64",
    f"workload=mobilenet_v2 {_LARGE} device=v100 precision=fp16 global_batch_size=128",
    "workload=mnist_cnn device=t4 precision=fp32 global_batch_size=64",
    "workload=cifar10_cnn device=v100 precision=fp32 global_batch_size=256",
    "workload=lenet5 device=cpu precision=fp32 global_batch_size=64",
    f"workload=resnet50 {_LARGE} device=cpu precision=fp32 global_batch_size=32",
    f"workload=resnet50 {_LARGE} device=tpu_v5e_8 precision=bf16 global_batch_size=1024",
    f"workload=resnet50 {_LARGE} device=tpu_v3_8 precision=fp32 global_batch_size=1024",
    "workload=imdb_bilstm device=t4 precision=fp32 global_batch_size=64",
    "workload=imdb_bigru device=v100 precision=fp16 global_batch_size=128",
    "workload=imdb_bilstm workload.sequence_length=500 device=v100 precision=fp32 global_batch_size=64",
    "workload=imdb_bilstm workload.layers=2 workload.units=64 device=l4 precision=fp32 global_batch_size=64",
    "workload=imdb_bigru device=a100_40 precision=bf16 global_batch_size=128",
    "workload=mnist_gan device=t4 precision=fp32 global_batch_size=64",
    "workload=mnist_dbn device=v100 precision=fp32 global_batch_size=64",
    "workload=gpt2 workload.size=small device=l4 precision=bf16 global_batch_size=8",
    "workload=gpt2 workload.size=xl device=t4 precision=fp16 global_batch_size=8",
    "workload=gpt2 workload.size=xl device=h100 precision=bf16 global_batch_size=1024",
    "workload=bert_base workload.size=base device=g5.xlarge precision=bf16 global_batch_size=32",
    "workload=bert_base workload.size=base device=tpu_v4_8 precision=bf16 global_batch_size=256",
    "workload=vit_b16 workload.size=b16 workload.image_size=224 device=a100_80 precision=bf16 "
    "global_batch_size=128",
    "workload=llama_style device=h100 precision=bf16 global_batch_size=8",
    "workload=gpt2 device=h100 precision=bf16 global_batch_size=256 num_workers=16",
    "workload=llama-70b device=h100 precision=bf16",
    "workload=yolov8 device=t4",
    f"workload=resnet50 {_LARGE} device=mi300x",
    f"workload=resnet50 {_LARGE} device=p9.huge",
    "workload=inception_v3 workload.image_size=32 device=t4",
    "workload=script script.command='python train.py' device=a100_40",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Question with the published answer.

    Attributes:
        published_seconds: of one step; None: nobody published it.
        source: who published it.
    """

    words: str
    published_seconds: float | None = None
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """Answer to a question.

    Attributes:
        answer: milliseconds with interval, or the reason against a time.
        factor: predicted over published seconds; None: no time, or nothing published.
        is_inside: the published time lies in the interval.
    """

    question: Question
    kind: str
    answer: str
    factor: float | None = None
    is_inside: bool = False


def questions() -> Iterator[Question]:
    """Yield all questions; of the transformers one a network, device, precision and number of workers."""
    for words in _UNPUBLISHED:
        yield Question(words=words)
    for rate in RATES:
        size = f"workload.image_size={rate.image_size} workload.num_classes={NUM_CLASSES}"
        yield _published(rate, size, f"{rate.source} (tools/imagenet_rates.py)")
    seen = set()
    for rate in TRANSFORMER_RATES:
        options = " ".join(f"workload.{key}={value}" for key, value in rate.options.items())
        key = (rate.workload, options, rate.device, rate.precision, rate.num_workers)
        if key not in seen:
            seen.add(key)
            yield _published(rate, options, f"{rate.source} (tools/transformer_rates.py)")


def _published(rate, options: str, source: str) -> Question:
    return Question(
        words=f"workload={rate.workload} {options} device={rate.device} precision={rate.precision} "
        f"global_batch_size={rate.global_batch_size} num_workers={rate.num_workers}",
        published_seconds=rate.global_batch_size / rate.samples_per_second,
        source=source,
    )


def reply_to(question: Question, folder: Path) -> Reply:
    """Ask it in an empty folder, so that no own records answer."""
    try:
        (prediction,) = predict_points(shlex.split(question.words), working_directory=folder)
    except ConfigError as error:
        told = str(error).replace(str(Path.cwd()), "the working directory")
        return Reply(question=question, kind="wrong request", answer=told)
    step, need = prediction.step, prediction.memory
    if not isinstance(step, Estimate):
        kind = "does not fit" if need is not None and need.fits is False else "refused"
        return Reply(question=question, kind=kind, answer=step.reason)
    answer = f"{1e3 * step.likely:.4g} ms [{1e3 * step.low:.4g}, {1e3 * step.high:.4g}]"
    seconds = question.published_seconds
    if seconds is None:
        return Reply(question=question, kind="answered", answer=answer)
    return Reply(
        question=question,
        kind="answered",
        answer=answer,
        factor=step.likely / seconds,
        is_inside=step.holds(seconds),
    )


def page_of(replies: list[Reply]) -> str:
    """Write the page: counts, then a row a question."""
    counts = {
        kind: sum(reply.kind == kind for reply in replies) for kind in sorted({r.kind for r in replies})
    }
    known = [reply for reply in replies if reply.factor is not None]
    off = sorted(math.exp(abs(math.log(reply.factor))) for reply in known if reply.factor is not None)
    inside = sum(reply.is_inside for reply in known)
    lines = [
        "# Questions, and what `predict` answers",
        "",
        "Written by `python benchmarks/questions.py > docs/findings/prediction_questions.md` on "
        f"{datetime.now(UTC):%Y-%m-%d},",
        f"Python {platform.python_version()}. Nothing was measured for it, and no own records were used.",
        "",
        f"{len(replies)} questions: " + ", ".join(f"{count} {kind}" for kind, count in counts.items()) + ".",
        f"{len(known)} answered ones have a published time. The median error is a factor of "
        f"{statistics.median(off):.2f}, nine of ten lie within {off[math.ceil(0.9 * len(off)) - 1]:.2f},",
        f"and {inside} published times lie in their 90% intervals. The bundled models are fitted to these "
        "rates too:",
        "this is no test on unseen data. [Accuracy](prediction_accuracy.md) has those.",
        "",
        "| question | answer | published ms | predicted / published | source |",
        "|---|---|---|---|---|",
    ]
    for reply in replies:
        question = reply.question
        seconds = question.published_seconds
        cells = (
            _shortened(question.words.replace("workload.", "").replace("global_batch_size", "batch"), 100),
            reply.answer if reply.kind == "answered" else _shortened(f"{reply.kind}: {reply.answer}", 130),
            "" if seconds is None else f"{1e3 * seconds:.4g}",
            "" if reply.factor is None else f"{reply.factor:.2f}",
            question.source.partition(" (")[0],
        )
        lines.append("| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def fine_tuning_page(pairs: list[tuple[Expected, Reply]]) -> str:
    """Write the page of the questions about fine-tuning: what was expected, and what came."""
    counts = {
        kind: sum(reply.kind == kind for _, reply in pairs) for kind in sorted({r.kind for _, r in pairs})
    }
    as_expected = sum(asked.kind == reply.kind for asked, reply in pairs)
    off = sorted(math.exp(abs(math.log(reply.factor))) for _, reply in pairs if reply.factor is not None)
    inside = sum(reply.is_inside for _, reply in pairs)
    lines = [
        "# Questions about fine-tuning, and what `predict` answers",
        "",
        "Written by `python benchmarks/questions.py --fine-tuning > docs/findings/fine_tuning_questions.md`",
        f"on {datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}. "
        "Nothing was measured for it, and no own records were used.",
        "",
        f"{len(pairs)} questions: " + ", ".join(f"{count} {kind}" for kind, count in counts.items()) + "; "
        f"{as_expected} as expected.",
        f"{len(off)} answered ones have a published rate, to which the bundled models are fitted too.",
        f"The median error is a factor of {statistics.median(off):.2f}, the largest {off[-1]:.2f},",
        f"and {inside} published times lie in their 90% intervals. "
        "[Accuracy](prediction_accuracy.md#large-language-models) has laboratories held out.",
        "",
        "| question | settings | expected | answer | predicted / published time |",
        "|---|---|---|---|---|",
    ]
    for asked, reply in pairs:
        expected = asked.kind + (f": {asked.why}" if asked.why else "")
        cells = (
            asked.text,
            " ".join(word for word in asked.words.split() if word.startswith(_SETTINGS)),
            expected,
            reply.answer if reply.kind == "answered" else _shortened(f"{reply.kind}: {reply.answer}", 130),
            "" if reply.factor is None else f"{reply.factor:.2f}",
        )
        lines.append("| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _reply_in_hours(asked: Expected, folder: Path) -> Reply:
    """Ask it, and give the time of the whole job in place of that of a step."""
    rate = asked.published_tokens_per_second
    seconds = None if rate is None else asked.tokens_per_step / rate
    reply = reply_to(Question(words=asked.words, published_seconds=seconds), folder)
    if reply.kind != "answered":
        return reply
    likely, low, high = (float(word) for word in re.findall(r"[\d.e+]+", reply.answer.replace("ms", "")))
    steps = asked.total_tokens / asked.tokens_per_step
    hours = (f"{milliseconds * steps / 3.6e6:.2g}" for milliseconds in (likely, low, high))
    tokens = 1e3 * asked.tokens_per_step / likely
    return replace(reply, answer="{} h [{}, {}], {:,.0f} tokens/s".format(*hours, tokens))


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 2]} …"


def main() -> None:
    os.environ.setdefault(
        "ORCHESTRATOR_WORKLOAD_SECONDS", "900"
    )  # counting an 8b model takes long on a busy host
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "--fine-tuning" in sys.argv[1:]:
            pairs = [(asked, _reply_in_hours(asked, folder)) for asked in fine_tuning_questions(folder)]
            sys.stdout.write(fine_tuning_page(pairs))
            return
        replies = [reply_to(question, folder) for question in questions()]
    sys.stdout.write(page_of(replies))


if __name__ == "__main__":
    main()
