"""Four records whose every number was worked out by hand, and what the report says of them.

Each trial: batch 64, 100 steps of 10 to a block, six equal blocks; 1 USD an hour is 1/3600 USD a second.

                   step    samples/s      training  launch + evaluation   whole      billed (whole seconds)
    cpu fp32 r0    80 ms   64 / .08 =  800   8.0 s       0.6 + 0.1         8.7 s        10 s of 10.0
    cpu fp32 r1    64 ms   64 / .064 = 1000  6.4 s       0.6 + 0.1         7.1 s         8 s of 7.5
    t4  fp32 r0    20 ms   64 / .02 = 3200   2.0 s       0.6 + 0.1         2.7 s         3 s of 3.0
    t4  fp32 r1    16 ms   64 / .016 = 4000  1.6 s       0.6 + 0.1         2.3 s         3 s of 2.5

The CPU costs 0.36 USD an hour (0.0001 a second), the T4 with its host 1.80 (0.0005 a second).

Rates: geometric means sqrt(800 x 1000) = 894.43 and sqrt(3200 x 4000) = 3577.7.

Speed-up: 3577.7 / 894.43, so 4 times. Each side has
two values, whose logarithms differ by ln 1.25 = 0.22314: variance 0.22314^2 / 2 = 0.024896, over two values
0.012448 a side, 0.024896 together, and its root is 0.15779. Welch-Satterthwaite: 0.024896^2 over twice
0.012448^2 is 2 degrees of freedom, t = 4.303, half width 0.67895: from 4 / e^0.67895 = 2.0287 to
4 x e^0.67895 = 7.8869.

A million samples at 894.43 a second take 1118.0 s: 0.11180 USD; at 3577.7 a second 279.51 s: 0.13975 USD; at
the slowest, 3200 a second, 312.5 s: 0.15625 USD, of which a half is rounded to the even digit.

Trials cost 10 x 0.0001 + 8 x 0.0001 = 0.0018 USD on the CPU and 6 x 0.0005 = 0.0030 USD on the T4.

To the target: launch 0.6 s, 2.0 s of training, 0.5 s of evaluations on the way = 3.1 s: 0.00031 USD.

Efficiency: 2 workers at 1350 samples/s against 1 at 900 are 1.5 times as fast, 75% of twice as fast.
"""

from dataclasses import replace

import pytest
from builders import pursuit, record, train_result, trial_spec
from price_builders import price
from report_builders import baseline_of, plan_of

from orchestrator.analysis.findings import collect_findings
from orchestrator.analysis.report.headline import build_headline
from orchestrator.core.objective import Objective

SPENT = {"launch_seconds": 0.6, "evaluation_seconds": 0.1}
CPU, T4 = price(node_usd_per_hour=0.36), price(node_usd_per_hour=1.80, instance="t4-box")


def trial(step_seconds, seconds, *, paid, repeat=0, **spec):
    """A training of 100 steps whose attempt took so many seconds."""
    result = train_result(
        block_seconds=((10 * step_seconds,) * 6,),
        steps=100,
        samples=6400,
        training_seconds=100 * step_seconds,
        cpu_seconds=(60 * step_seconds,),
        **SPENT,
    )
    found = record(spec=trial_spec(steps=100, repeat=repeat, **spec), result=result, price=paid)
    return replace(found, ended_at=found.started_at + seconds)


def records():
    away = {"device": "t4", "host_cpu": None}
    return [
        trial(0.080, 10.0, paid=CPU),
        trial(0.064, 7.5, paid=CPU, repeat=1),
        trial(0.020, 3.0, paid=T4, **away),
        trial(0.016, 2.5, paid=T4, repeat=1, **away),
    ]


@pytest.fixture(scope="module")
def findings():
    found = records()
    return collect_findings(found, plan_of(found, baseline=baseline_of(found, device="cpu")))


def rows(findings, title):
    (table,) = (table for table in findings.tables if table.title == title)
    return [dict(zip((column.header for column in table.columns), row, strict=True)) for row in table.rows]


def test_rates_and_dollars_of_a_million_samples(findings):
    cpu, t4 = rows(findings, "Measured")
    assert (cpu["samples/s"], t4["samples/s"]) == ("894.4 [800.0, 1,000.0]", "3,578 [3,200, 4,000]")
    assert (cpu["$/M samples"], t4["$/M samples"]) == (
        "0.1118 [0.1000, 0.1250]",
        "0.1398 [0.1250, 0.1562]",
    )


def test_the_speed_up_with_its_interval(findings):
    (against,) = rows(findings, "Against the baseline")
    assert (against["ratio"], against["verdict"]) == ("4.00x [2.03, 7.89]", "too few repeats")
    assert rows(findings, "Speed-up by device and precision")[1]["fp32"] == "4.00x [2.03, 7.89]*"


def test_what_the_trials_cost(findings):
    cpu, t4, total = rows(findings, "Cost")
    assert [(value["billed node s"], value["$"]) for value in (cpu, t4, total)] == [
        ("18.00", "0.001800"),
        ("6.000", "0.003000"),
        ("24.00", "0.004800"),
    ]
    assert "4 trials cost $0.0048 for 24.0 node-seconds." in build_headline(findings)


def test_what_is_recommended_and_how_far_it_is_ahead():
    """64,000 samples: 1,000 steps. Fixed: launch, first step of 0.2 s beyond a steady one, evaluation.

                     fixed                              1,000 steps   job
        cpu fp32 r0  0.6 + 0.2 - 0.080 + 0.1 = 0.820    80 s          80.820 s
        cpu fp32 r1  0.6 + 0.2 - 0.064 + 0.1 = 0.836    64 s          64.836 s
        t4  fp32 r0  0.6 + 0.2 - 0.020 + 0.1 = 0.880    20 s          20.880 s
        t4  fp32 r1  0.6 + 0.2 - 0.016 + 0.1 = 0.884    16 s          16.884 s

    Steps, geometric means: sqrt(80 x 64) = 71.5542 and sqrt(20 x 16) = 17.8885 ms. Fixed, medians: 0.828 and
    0.882 s. Together 72.3822 and 18.7705 s; at 0.0001 and 0.0005 a second 0.0072382 and 0.0093853 USD.

    Logarithms differ by ln(80.82 / 64.836) = 0.22036 and ln(20.88 / 16.884) = 0.21243. With one degree of
    freedom t = 12.706, and half an interval is 12.706 x difference / sqrt(2) / sqrt(2): 1.39999 and 1.34956.
    So the CPU takes from 72.382 / e^1.39999 = 17.849 to 293.52 s, the T4 from 4.8682 to 72.374 s.

    The CPU takes 72.382 / 18.771 = 3.8562 times as long, whose logarithm is 1.34967. Normal deviations with
    those intervals are 1.39999 / 1.95996 = 0.71430 and 0.68856, together 0.99214: the half interval is
    1.94455, from 3.8562 / 6.9905 = 0.5516 to 26.956. The T4 is within 5% of the best with the chance of a
    normal number below (1.34967 + ln 1.05) / 0.99214 = 1.4095: 92.1%. The CPU is faster with that of one
    below -1.34967 / 0.99214 = -1.3604: 8.7%, above 2.5%, so it is a tie. The quotient of the costs is
    0.0093853 / 0.0072382 = 1.2966, its logarithm 0.25977: the CPU is cheaper with the chance of a normal
    number below 0.25977 / 0.99214 = 0.2618: 60%, which shows nothing.

    Five repeats take three more of each: 3 x (10.0 + 7.5) / 2 = 26.25 s and 3 x (3.0 + 2.5) / 2 = 8.25 s,
    34.5 s in all. They are billed as 3 x 9 = 27 s and 3 x 3 = 9 s: 27 x 0.0001 + 9 x 0.0005 = 0.0072 USD.
    """
    found = records()
    findings = collect_findings(found, plan_of(found), Objective(samples=64_000))
    (answer,) = findings.recommendations
    t4, cpu = answer.standings
    assert (t4.setting, cpu.setting) == ("t4, torch_ddp, fp32", "cpu, torch_ddp, fp32")
    assert (answer.state, answer.chosen, answer.chosen_by) == ("tie", t4.setting, "")
    assert bounds(cpu.seconds) == pytest.approx((17.849, 72.3822, 293.52), rel=1e-4)
    assert bounds(t4.seconds) == pytest.approx((4.8682, 18.7705, 72.374), rel=1e-4)
    assert (cpu.usd.median, t4.usd.median) == pytest.approx((0.0072382, 0.0093853), rel=1e-4)
    assert bounds(answer.ahead) == pytest.approx((0.5516, 3.8562, 26.956), rel=1e-3)
    assert t4.chance == pytest.approx(0.921, abs=0.02)
    assert (answer.next_step.usd, answer.next_step.hours) == pytest.approx((0.0072, 34.5 / 3600))
    told = build_headline(findings)[0]
    assert told.startswith(
        "Tie: t4, torch_ddp, fp32, for mnist_cnn (fastest). Tied with cpu, torch_ddp, fp32. It has the best "
        "mean. Full training (64,000 samples, as `report.samples` asks): 19 s (4.9 to 72), $0.0094. "
        "Accuracy: 0.970 after 6,400 samples. "
    )
    assert "Against cpu, torch_ddp, fp32: 3." in told
    assert "], no difference shown." in told
    assert "Next: measure 5 repeats of the tied settings, about 34 s and $0.0072. Run: " in told
    assert told.endswith("sweep.repeats=5")


def bounds(spread):
    return (spread.low, spread.median, spread.high)


def test_dollars_to_the_target():
    found = trial(0.08, 10.0, paid=CPU)
    aimed = replace(found, result=replace(found.result, pursuit=pursuit(0.8, 0.93)))
    (usd,) = collect_findings([aimed], plan_of([aimed])).frame["usd_to_target"]
    assert usd == pytest.approx(0.00031)


def test_efficiency_of_two_workers():
    found = [trial(64 / 900, 10.0, paid=CPU), trial(64 / 1350, 10.0, paid=CPU, num_workers=2, replicas=2)]
    one, two = rows(collect_findings(found, plan_of(found)), "Scaling")
    assert (one["samples/s"], one["efficiency"]) == ("900.0", "100%")
    assert (two["speed-up"], two["efficiency"]) == ("1.50x", "75%")
