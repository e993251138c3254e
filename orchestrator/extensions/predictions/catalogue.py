"""Commands that predict."""

from orchestrator.commands.catalogue.sweeps import JSON
from orchestrator.commands.command_line import Command, Key

CONFIDENCE = "confidence="
"""Start of a word that only `predict advise` knows."""

SORT = "predict.sort="
"""Start of a word that only `predict` and `predict explain` know."""

_POINT = (
    Key(usage="workload=vgg16", summary="training job; its options: workload.KEY=VALUE"),
    Key(usage="device=t4,v100", summary="devices, also absent ones, or instances: g4dn.xlarge"),
    Key(usage="precision=fp16", summary="arithmetic; also global_batch_size, num_workers"),
)
_PRICE = Key(usage="prices.region=europe-west4", summary="region of the price list; also prices.provisioning")

COMMANDS = (
    Command(
        name="predict",
        group="Predict",
        arguments="workload=vgg16 device=t4,v100",
        summary="Predict step time and cost, also on devices not here.",
        run="orchestrator.extensions.predictions.commands:predict",
        flags=(JSON,),
        keys=(
            *_POINT,
            Key(usage="+sweep=NAME", summary="points of a sweep in place of one point"),
            Key(usage="compile=full", summary="ask the TPU compiler for the time of a step"),
            Key(usage="predict.sort=cost", summary="order by time or cost of a sample"),
            _PRICE,
        ),
        examples=(
            "predict workload=vgg16 device=t4,v100 predict.sort=cost",
            "predict workload=gpt2 device=h100 global_batch_size=8,32",
            "predict +sweep=tpu_vs_gpu --json",
        ),
    ),
    Command(
        name="predict explain",
        group="Predict",
        arguments="workload=vgg16 device=t4",
        summary="Show what the time of a step is spent on.",
        run="orchestrator.extensions.predictions.commands:explain",
        flags=(JSON,),
        keys=_POINT,
        examples=(
            "predict explain workload=vgg16 device=t4",
            "predict explain workload=resnet50 device=a100_40 precision=bf16 --json",
        ),
    ),
    Command(
        name="predict advise",
        group="Predict",
        arguments="+sweep=NAME budget.usd=5 confidence=0.9",
        summary="Say which setting to use, and what to measure next.",
        run="orchestrator.extensions.predictions.commands:advise",
        flags=(JSON,),
        keys=(
            Key(usage="confidence=0.9", summary="chance above which an answer is settled (0.95)"),
            Key(usage="search.tolerance=0.05", summary="how far above the best a good setting may lie"),
            Key(usage="budget.usd=5", summary="most that all further measurements may cost"),
            Key(usage="report.goal=cheapest", summary="fastest (default), cheapest, best or balanced"),
            Key(usage="report.deadline_hours=4", summary="also report.budget_usd, report.quality"),
            Key(usage="report.epochs=15", summary="length of the job; also report.samples, report.tokens"),
            _PRICE,
        ),
        examples=(
            "predict advise +sweep=tpu_vs_gpu budget.usd=5",
            "predict advise +sweep=smoke report.goal=cheapest",
            "predict advise +sweep=tpu_vs_gpu confidence=0.9 --json",
        ),
    ),
    Command(
        name="predict calibrate",
        group="Predict",
        arguments="device=auto",
        summary="Measure this host's device, for better predictions.",
        run="orchestrator.extensions.predictions.commands:calibrate",
        flags=(JSON,),
        keys=(
            Key(usage="device=auto", summary="device of this host; cpu by default"),
            Key(usage="outputs=FOLDER", summary="folder of calibrations.jsonl (outputs)"),
            Key(usage="trainer.python=PATH", summary="interpreter with torch"),
        ),
        examples=("predict calibrate device=auto", "predict calibrate device=cpu --json"),
    ),
)
