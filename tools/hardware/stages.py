"""The stages of the hardware test. Each one checks what a CPU cannot show."""

import importlib.util
import json
import math
import os
import sys
import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from hardware.clock import event_step_seconds
from hardware.rounding import errors_of
from hardware.session import ROOT, Session, build_label, format_words, step_seconds, timed_seconds

_CLOCK_TOLERANCE = 0.25  # the independent loop has no input pipeline and no readings of the loss
_LEAST_WATTS = 5.0
_SURE_SECONDS = 2.0  # counters of energy move every 20 to 100 ms
_SMALL = ("mnist_cnn", "mnist_gan", "imdb_bilstm", "imdb_bigru")
_GAN_BATCHES = ("64", "128", "256", "512")
_BOUND_BY_ARITHMETIC = ("workload=resnet50", "workload.image_size=224", "global_batch_size=128", "steps=90")
"""On images of 32 pixels the host of an H100 took 17 to 25 ms to launch a step, whatever the precision."""
_MEMORY_TOLERANCE = 0.08
_LANGUAGE_MODEL = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 32_000,
    "hidden_size": 2_048,
    "intermediate_size": 5_632,
    "num_hidden_layers": 22,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "max_position_embeddings": 2_048,
    "tie_word_embeddings": False,
}
"""The shape of TinyLlama: 1.1 billion weights."""
_SMALLEST = {
    "vocab_size": 256,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "max_position_embeddings": 64,
}
"""Sizes of it that are smaller in a dry run on a CPU."""
_WIDE = {"hidden_size": 4_096, "intermediate_size": 14_336, "num_hidden_layers": 4}
"""Blocks of the size of Llama 3 8B: narrower products may gain less from fp8 than its casts take."""
_JOBS = ("digits", "tiny_bert")
_OWN_LOOP = "python train_mnist.py --batch-size {batch_size_per_worker} --precision {precision}"
_HUGGING_FACE = """
import sys, torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments
from orchestrator_callback import StepCallback


class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return 10_000

    def __getitem__(self, index):
        return {"input_ids": torch.randint(1000, (64,)), "labels": torch.tensor(index % 2)}


arguments = TrainingArguments("trained", per_device_train_batch_size=int(sys.argv[1]), num_train_epochs=50,
                              report_to=[], logging_steps=5, save_strategy="no")
config = BertConfig(vocab_size=1000, hidden_size=256, num_hidden_layers=4, num_attention_heads=4)
model = BertForSequenceClassification(config)
Trainer(model, arguments, train_dataset=Texts(), callbacks=[StepCallback()]).train()
"""
_PLANTED = """
import sys
sys.path.extend({folders!r})
from patched_import import patch_when_imported

def break_synchronize(module):
    module.TorchDdpTrainer.synchronize = lambda self: None

patch_when_imported("orchestrator.train.trainers.torch_ddp_trainer", after=break_synchronize)
"""


def facts(session: Session) -> None:
    """Check that `doctor` finds the device, and nothing missing."""
    code, output = session.run("doctor", "--json")
    diagnosis = json.loads(output)
    missing = [check["message"] for check in diagnosis["checks"] if check["status"] == "missing"]
    session.check("facts", code == 0, f"doctor ends with exit code {code}; missing: {missing or 'nothing'}")
    for check in diagnosis["checks"]:
        session.note(f"{check['status']}: {check['message']}")
    usable = {
        trainer["name"]: trainer["devices"].get(session.device.name) for trainer in diagnosis["trainers"]
    }
    session.check(
        "facts", usable.get(session.trainer) == "", f"{session.trainer} can use {session.device.name}"
    )


def plan(session: Session) -> None:
    """Check that a plan measures on the device instead of rehearsing."""
    words = ("+sweep=single", "sweep.name=plan", f"device={session.device.name}")
    code, output = session.run("plan", *words, f"trainer={session.trainer}")
    is_measured = "to run: 1 to measure" in output
    session.check("plan", code == 0 and is_measured, f"{session.device.name} is to be measured")
    if not is_measured:
        sys.stdout.write(output[-2000:])


def arithmetic(session: Session) -> None:
    """Check that fp32 does not round and that tf32 does, for a product and for a convolution."""
    if session.device.kind == "tpu":
        session.note("arithmetic: of torch on a CPU or GPU only")
        return
    for precision in session.precisions:
        if precision not in ("fp32", "tf32"):
            continue
        low, high = (0.0, 1e-4) if precision == "fp32" else (1e-4, 0.2)
        for what, error in errors_of(precision, session.device.kind).items():
            expected = f"{low:g} to {high:g}"
            text = f"{precision} {what}: largest error {error:.2e}, expected {expected}"
            session.check("arithmetic", low <= error <= high, text)


def measure(session: Session) -> None:
    """Check the records of small workloads in every precision."""
    workloads = _SMALL[:1] if session.is_quick else _SMALL
    for record in session.sweep(
        "measure",
        f"trainer={session.trainer}",
        f"workload={format_words(workloads)}",
        f"precision={format_words(session.precisions)}",
        f"steps={100 if session.is_quick else 300}",
    ):
        _judge(session, "measure", record)


def heavy(session: Session) -> None:
    """Check that lower precisions are faster where arithmetic decides, and that the clock is right."""
    if session.device.kind == "cpu":
        session.note("heavy: of accelerators only")
        return
    results = session.sweep(
        "heavy",
        f"trainer={session.trainer}",
        *_BOUND_BY_ARITHMETIC,
        f"precision={format_words(session.precisions)}",
    )
    for record in results:
        _judge(session, "heavy", record)
    seconds = {record["spec"]["precision"]: step_seconds(record) for record in results}
    order = [name for name in ("fp32", "tf32", "bf16") if name in seconds]
    is_faster = all(seconds[slow] > seconds[fast] for slow, fast in pairwise(order))
    listed = ", ".join(f"{name} {1e3 * seconds[name]:.2f} ms" for name in order)
    session.check("heavy", is_faster and len(order) > 1, f"resnet50 takes less in lower precisions: {listed}")


def gan(session: Session) -> None:
    """Measure the mixed-precision GAN over batch sizes, and check that its rate grows with them."""
    if session.device.kind == "cpu":
        session.note("gan: of accelerators only")
        return
    results = session.sweep(
        "gan",
        f"trainer={session.trainer}",
        "workload=mnist_gan",
        "precision=bf16" if "bf16" in session.precisions else "precision=fp16",
        f"global_batch_size={format_words(_GAN_BATCHES)}",
        "steps=600",
    )
    rates = {}
    for record in results:
        _judge(session, "gan", record)
        batch = record["spec"]["global_batch_size"]
        rates[batch] = batch / step_seconds(record)
        session.note(f"gan: batch {batch}: {rates[batch]:,.0f} samples/s")
    is_faster = len(rates) > 1 and rates[max(rates)] > rates[min(rates)]
    least, most = min(rates, default=0), max(rates, default=0)
    session.check("gan", is_faster, f"samples/s grow from batch {least} to {most}")


def clock(session: Session) -> None:
    """Check our time of a step against CUDA events around a loop that shares no code with ours.

    The step must be bound by the device: on an H100, launches of mnist_cnn took 3.1 ms a step in one process
    and 5.2 ms in another.
    """
    if session.device.kind != "gpu":
        session.note("clock: of GPUs only")
        return
    ours = [
        step_seconds(record)
        for record in session.records("heavy")
        if record["result"] and record["spec"]["precision"] == "bf16"
    ]
    if not ours:
        session.note("clock: stage heavy has no result in bf16")
        return
    events = event_step_seconds("resnet50", 128, {"image_size": 224})
    text = f"resnet50 bf16: {1e3 * ours[0]:.3f} ms by us, {1e3 * events:.3f} ms by CUDA events"
    session.check("clock", abs(ours[0] / events - 1) < _CLOCK_TOLERANCE, text)


def compile_(session: Session) -> None:
    """Check that compiled steps train."""
    if session.device.kind == "tpu":
        session.note("compile: torch_xla always compiles")
        return
    precisions = session.precisions[:1] if session.is_quick else session.precisions
    for record in session.sweep(
        "compile",
        f"trainer={session.trainer}",
        "workload=mnist_cnn",
        "trainer.compile=on",
        f"precision={format_words(precisions)}",
        "steps=150",
    ):
        _judge(session, "compile", record)


def jobs(session: Session) -> None:
    """Check the documented jobs in plain PyTorch, on the device as it is theirs to use."""
    if session.trainer != "torch_ddp":
        session.note("jobs: of torch_ddp only")
        return
    for record in session.sweep(
        "jobs",
        "workload_path=docs/examples/jobs",
        f"trainer={session.trainer}",
        f"workload={format_words(_JOBS)}",
        f"precision={format_words([name for name in session.precisions if name in ('fp32', 'bf16')])}",
        "steps=100",
    ):
        _judge(session, "jobs", record)


def language_models(session: Session) -> None:
    """Check counted memory and predicted time of a language model, whole and by adapters.

    What is predicted is asked before anything is measured.
    """
    if session.trainer != "torch_ddp":
        session.note("language_models: of torch_ddp only")
        return
    is_gpu = session.device.kind == "gpu"
    folder = _write_model(session, "language_model", {} if is_gpu else _SMALLEST)
    words = (
        f"trainer={session.trainer}",
        "workload=causal_lm",
        f"workload.model={folder}",
        f"workload.method={'lora' if session.is_quick else 'full,lora,qlora'}",
        "workload.dtype=bfloat16",
        "activation_checkpointing=none,full",
        "precision=bf16",
        "global_batch_size=4",
        "steps=100",
        "workload_seconds=300",
    )
    stage = "language_models"
    where = ("+sweep=single", f"sweep.name={stage}", f"device={session.device.name}")
    code, output = session.run("plan", *where, *words, "--json")
    session.check(stage, code == 0, f"plan ends with exit code {code}")
    planned = json.loads(output) if code == 0 else {"memory": {}, "forecasts": []}
    predicted = {_identify(item["trial"]): item["step"] for item in planned["forecasts"]}
    for record in session.sweep(stage, *words):
        _judge(session, stage, record)
        label = build_label(record)
        tokens = record["result"]["tokens_per_sample"] * record["spec"]["global_batch_size"]
        session.note(f"{label}: {tokens / step_seconds(record):,.0f} tokens/s")
        session.note(f"{label}: predicted step {predicted.get(_identify(record['spec']))}")
        counted = planned["memory"].get(record["trial_id"], {}).get("tensor_bytes")
        if not is_gpu or counted is None:
            continue
        ratio = counted / max(device["peak_memory_bytes"] for device in record["result"]["devices"])
        text = f"{label}: counted memory {counted / 2**30:.2f} GiB, {ratio:.3f} of the peak"
        session.check(stage, abs(ratio - 1) < _MEMORY_TOLERANCE, text)


def float8(session: Session) -> None:
    """Check that a compiled step of a language model is shorter in fp8 than in bf16."""
    if session.device.kind != "gpu" or "fp8" not in session.device.native_precisions:
        session.note("float8: of GPUs with fp8 only")
        return
    folder = _write_model(session, "float8_model", _WIDE)
    results = session.sweep(
        "float8",
        f"trainer={session.trainer}",
        "trainer.compile=on",
        "workload=causal_lm",
        f"workload.model={folder}",
        "workload.dtype=bfloat16",
        "precision=bf16,fp8",
        "global_batch_size=4",
        "steps=100",
        "workload_seconds=300",
    )
    for record in results:
        _judge(session, "float8", record)
    seconds = {record["spec"]["precision"]: step_seconds(record) for record in results}
    listed = ", ".join(f"{name} {1e3 * value:.2f} ms" for name, value in seconds.items())
    is_faster = len(seconds) > 1 and seconds["fp8"] < seconds["bf16"]
    session.check("float8", is_faster, f"a compiled step takes less in fp8: {listed}")


def _write_model(session: Session, name: str, sizes: Mapping[str, int]) -> Path:
    """Write the configuration of a language model, with other sizes than TinyLlama's."""
    folder = session.folder / name
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps({**_LANGUAGE_MODEL, **sizes}))
    return folder


def _identify(trial: Mapping[str, Any]) -> str:
    """Return what the settings of one stage differ in."""
    return json.dumps([trial["workload_options"], trial.get("memory_settings")], sort_keys=True)


def scripts(session: Session) -> None:
    """Check a script with its own loop, and one of Hugging Face's `Trainer` where that is installed."""
    if session.device.kind == "tpu":
        session.note("scripts: of torch on a CPU or GPU only")
        return
    cases = [("own_loop", ROOT / "docs" / "examples" / "scripts", _OWN_LOOP, "fp32,bf16")]
    if importlib.util.find_spec("transformers") and importlib.util.find_spec("accelerate"):
        folder = session.folder / "scripts"
        folder.mkdir(exist_ok=True)
        (folder / "fit_bert.py").write_text(_HUGGING_FACE)
        cases.append(("hugging_face", folder, "python fit_bert.py {batch_size_per_worker}", "fp32"))
    for name, folder, command, precisions in cases:
        for record in session.sweep(
            name,
            "workload=script",
            f"script.folder={folder}",
            f"script.command='{command}'",
            f"precision={precisions}",
            "steps=100",
        ):
            result, label = record["result"], build_label(record)
            session.note(f"{label} {name}: {1e3 * step_seconds(record):.3f} ms a step")
            names = {device["name"] for device in result["devices"]}
            is_it = names <= set(session.device.driver_names) or session.device.kind == "cpu"
            session.check("scripts", bool(names) and is_it, f"{label}: ran on {', '.join(names)}")


def split(session: Session) -> None:
    """Check trials over the GPU and the CPU of this host together."""
    if session.device.kind != "gpu":
        session.note("split: of GPUs only")
        return
    words = ("trainer=kernel_split,unequal_ddp", "workload=cifar10_cnn", "steps=100")
    for record in session.sweep("split", *words, device=f"devices=[{session.device.name},cpu]"):
        kinds = [device["kind"] for device in record["result"]["devices"]]
        session.check(
            "split", kinds == ["gpu", "cpu"], f"{build_label(record)}: ran on {' and '.join(kinds)}"
        )


def gate(session: Session) -> None:
    """Check that a measurement without synchronization is refused.

    The step must be bound by the device: where the host launches more slowly than the device computes, the
    device is idle at the end of a block, and the time is right without waiting for it.
    """
    if session.device.kind != "gpu":
        session.note("gate: of GPUs only")
        return
    python = _planted_python(session.folder)
    session.run(
        "+sweep=single",
        "sweep.name=gate",
        f"device={session.device.name}",
        "trainer=torch_ddp",
        f"trainer.python={python}",
        "trainer.start_method=spawn",
        "precision=fp32",
        *_BOUND_BY_ARITHMETIC,
    )
    messages = [(record["failure"] or {}).get("message", "measured") for record in session.records("gate")]
    is_refused = any("not idle" in message for message in messages)
    session.check("gate", is_refused, f"without synchronize: {messages or 'no record'}")


def resume(session: Session) -> None:
    """Check that a killed training continues from its checkpoint."""
    steps = 6000 if session.device.kind != "cpu" else 3000
    precision = session.precisions[-1]
    words = (
        "+sweep=single",
        "sweep.name=resume",
        f"device={session.device.name}",
        f"trainer={session.trainer}",
        "workload=mnist_cnn",
        f"precision={precision}",
        f"steps={steps}",
        "checkpoint.every_seconds=1",
    )
    process = session.start(*words)
    folder, until = session.folder / "outputs" / "resume" / "checkpoints", time.monotonic() + 120
    while time.monotonic() < until and not any(folder.rglob("arrays.npz")):
        time.sleep(0.2)
    time.sleep(1.5)
    session.kill(process)
    code, output = session.run(*words)
    steps_done = [
        record["result"]["resumed_from_step"] for record in session.records("resume") if record["result"]
    ]
    session.check(
        "resume", bool(steps_done) and steps_done[-1] > 0, f"continued from step {steps_done}, exit {code}"
    )
    if not steps_done:
        sys.stdout.write(output[-2000:])


def energy(session: Session) -> None:
    """Check that energy over the timed seconds is a plausible power."""
    if session.device.kind != "gpu":
        session.note("energy: of GPUs only")
        return
    watts = {}
    for record in (*session.records("heavy"), *session.records("measure")):
        result = record["result"]
        joules = (result or {}).get("energy_joules", {}).get("accelerator")
        if joules is not None and timed_seconds(result) >= _SURE_SECONDS:
            watts[build_label(record)] = joules / timed_seconds(result)
    most = 1.1 * (session.device.tdp_watts or math.inf)
    session.check(
        "energy", bool(watts), f"{len(watts)} measurements have energy over {_SURE_SECONDS:g} s or more"
    )
    for label, value in watts.items():
        text = f"{label}: {value:.0f} W, at most {most:.0f} W"
        session.check("energy", _LEAST_WATTS < value < most, text)


STAGES: Mapping[str, Callable[[Session], None]] = {
    "facts": facts,
    "plan": plan,
    "arithmetic": arithmetic,
    "measure": measure,
    "heavy": heavy,
    "gan": gan,
    "clock": clock,
    "gate": gate,
    "compile": compile_,
    "language_models": language_models,
    "float8": float8,
    "jobs": jobs,
    "scripts": scripts,
    "split": split,
    "resume": resume,
    "energy": energy,
}
"""Stages in their order: `clock` and `energy` judge records of the stages before them."""


def _judge(session: Session, stage: str, record: Mapping[str, Any]) -> None:
    """Check what every measurement must show."""
    result, label = record["result"], build_label(record)
    session.note(
        f"{label}: {1e3 * step_seconds(record):.3f} ms a step, {timed_seconds(result):.2f} s timed, "
        f"energy {result['energy_joules'].get('accelerator')} J"
    )
    session.check(stage, record["provenance"] == "measured", f"{label}: is {record['provenance']}")
    kind, precision = session.device.kind, record["spec"]["precision"]
    for device in result["devices"]:
        is_it = device["kind"] == kind and (kind == "cpu" or device["name"] in session.device.driver_names)
        session.check(stage, is_it, f"{label}: ran on {device['name']} ({device['kind']})")
        session.check(
            stage, device["precision"] == precision, f"{label}: arithmetic in {device['precision']}"
        )
        if kind == "gpu":
            session.check(stage, (device["peak_memory_bytes"] or 0) > 2**20, f"{label}: memory is counted")
    losses = [loss for _, loss in result["losses"]]
    may_grow = record["spec"]["workload"] == "mnist_gan"  # its networks train against each other
    is_sound = all(map(math.isfinite, losses)) and (may_grow or losses[-1] < 1.5 * losses[0])
    session.check(stage, is_sound, f"{label}: loss {losses[0]:.3f} to {losses[-1]:.3f}")


def _planted_python(folder: Path) -> Path:
    """Write an interpreter whose workers do not wait for the device."""
    site = folder / "planted"
    site.mkdir(exist_ok=True)
    code = _PLANTED.format(folders=[str(ROOT / "tests" / "support" / "host")])
    (site / "sitecustomize.py").write_text(code)
    python = site / "python"
    path = os.pathsep.join(["$PYTHONPATH", str(site)])
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{path}" exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return python
