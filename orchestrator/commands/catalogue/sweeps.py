"""Commands on a sweep: those that run it, and those that show its results."""

from orchestrator.commands.command_line import Command, Flag, Key

YES = Flag(name="--yes", summary="agree to the likely cost without a question, for scripts")
RERUN_FAILED = Flag(name="--rerun-failed", summary="run failed trials again, even if they would fail again")
RERUN = Flag(name="--rerun", value="TRIAL_ID", summary="run one trial again; plan --all lists the ids")
PLAIN = Flag(name="--plain", summary="print a line for each trial, also in a terminal")
QUIET = Flag(name="--quiet", summary="print the end of the run alone")
FULL = Flag(name="--full", summary="print every table at the end, not the answers alone")
ALL = Flag(name="--all", summary="list every point of a long plan")
PRINT = Flag(name="--print", summary="print the command alone, and run nothing")
JSON = Flag(name="--json", summary="print one JSON document for programs: docs/reference/json.md")

_AXES = (
    Key(usage="device=cpu,t4", summary="devices; auto: all that are here"),
    Key(usage="precision=fp32,bf16", summary="arithmetic; a list of values is a grid"),
    Key(usage="trainer=torch_ddp", summary="framework; also workload=NAME"),
    Key(usage="global_batch_size=64,256", summary="samples of a step; also num_workers, seed"),
    Key(usage="steps=500", summary="optimizer steps of a trial"),
    Key(usage="sweep.repeats=5", summary="trials of each point; a verdict needs five"),
)
_LIMITS = (
    Key(usage="search=adaptive", summary="choose trial after trial, stop when the answer is clear"),
    Key(usage="budget.usd=5", summary="stop at a cost; also budget.hours, budget.usd_per_trial"),
)
_GOALS = (
    Key(usage="report.goal=cheapest", summary="fastest (default), cheapest, best or balanced"),
    Key(usage="report.deadline_hours=4", summary="longest time of the whole job; also report.budget_usd"),
    Key(usage="report.quality=0.95", summary="lowest quality on held-out data"),
    Key(usage="report.epochs=15", summary="length of the job; also report.samples, report.tokens"),
)
_PRICES = Key(usage="prices.provisioning=spot", summary="on_demand or spot; also prices.region, prices=NAME")
_OUTPUTS = Key(usage="outputs=DIR", summary="folder of the sweeps' results (outputs)")

COMMANDS = (
    Command(
        name="run",
        group="Run a sweep",
        arguments="+sweep=NAME",
        summary="Run the trials that have no result yet, and report.",
        run="orchestrator.commands.sweep_commands:run",
        flags=(YES, RERUN_FAILED, RERUN, FULL, PLAIN, QUIET, JSON),
        keys=(
            *_AXES,
            *_LIMITS,
            *_GOALS[:1],
            Key(usage="executor=inline", summary="run without Ray; tracking=none: without MLflow"),
            _OUTPUTS,
        ),
        examples=(
            "+sweep=smoke device=cpu executor=inline tracking=none",
            "+sweep=tpu_vs_gpu search=adaptive budget.usd=5",
            "+sweep=smoke precision=fp32,bf16 sweep.repeats=5",
        ),
    ),
    Command(
        name="plan",
        group="Run a sweep",
        arguments="+sweep=NAME",
        summary="List what becomes of every point, and the likely cost.",
        run="orchestrator.commands.sweep_commands:plan",
        flags=(ALL, JSON, RERUN_FAILED, RERUN),
        keys=(
            *_AXES,
            *_LIMITS,
            _PRICES,
            Key(usage="compile=full", summary="ask the TPU compiler for the time of a step, too"),
        ),
        examples=(
            "plan +sweep=tpu_vs_gpu",
            "plan +sweep=gpt2_devices device=a100_40,h100 budget.usd=9",
            "plan --cfg job +sweep=smoke",
        ),
    ),
    Command(
        name="next",
        group="Run a sweep",
        arguments="+sweep=NAME",
        summary="Run the trial that the last report proposes.",
        run="orchestrator.commands.next_step:next_step",
        flags=(PRINT, YES, FULL, PLAIN, QUIET, JSON),
        keys=(_OUTPUTS,),
        examples=("next +sweep=tpu_vs_gpu --print", "next +sweep=smoke", "next +sweep=smoke --print --json"),
    ),
    Command(
        name="pause",
        group="Run a sweep",
        arguments="+sweep=NAME",
        summary="Let the running trials end, and start no more.",
        run="orchestrator.commands.sweep_commands:pause",
        keys=(_OUTPUTS,),
        examples=("pause +sweep=tpu_vs_gpu", "pause +sweep=smoke outputs=results"),
    ),
    Command(
        name="cancel",
        group="Run a sweep",
        arguments="+sweep=NAME",
        summary="Stop the running trials with a checkpoint.",
        run="orchestrator.commands.sweep_commands:cancel",
        keys=(_OUTPUTS,),
        examples=("cancel +sweep=tpu_vs_gpu", "cancel +sweep=smoke outputs=results"),
    ),
    Command(
        name="report",
        group="Look at results",
        arguments="+sweep=NAME",
        summary="Report the recorded trials: answers here, and a page.",
        run="orchestrator.commands.sweep_commands:report",
        flags=(FULL, JSON),
        keys=(
            *_GOALS,
            _PRICES,
            Key(usage="report.images=true", summary="also write the figures as SVG and PNG files"),
            Key(usage="report.source=mlflow", summary="read the tracking server in place of the ledger"),
            _OUTPUTS,
        ),
        examples=(
            "report +sweep=smoke report.goal=cheapest",
            "report +sweep=smoke report.epochs=3 prices.provisioning=spot",
            "report +sweep=smoke --json",
        ),
    ),
    Command(
        name="status",
        group="Look at results",
        arguments="+sweep=NAME",
        summary="Show which trials run, are done, and are left.",
        run="orchestrator.commands.sweep_commands:status",
        flags=(JSON,),
        keys=(_OUTPUTS,),
        examples=("status +sweep=tpu_vs_gpu", "status +sweep=smoke --json"),
    ),
    Command(
        name="sync",
        group="Look at results",
        arguments="+sweep=NAME",
        summary="Send the tracking server the records that it lacks.",
        run="orchestrator.commands.sweep_commands:sync",
        flags=(JSON,),
        keys=(Key(usage="tracking.uri=http://HOST:5000", summary="MLflow server or store"), _OUTPUTS),
        examples=("sync +sweep=smoke", "sync +sweep=smoke tracking.uri=http://localhost:5000"),
    ),
)
