"""Host use as MLflow's page of system metrics expects it."""

from builders import host_use

from orchestrator.core.inventory import GpuUse
from orchestrator.extensions.mlflow_tracking.mlflow_run import list_system_metrics


def test_a_core_busy_for_half_of_two_seconds_is_half_used():
    seen = (host_use(at=10.0, busy=5.0, of=100.0), host_use(at=12.0, busy=6.0, of=102.0))
    assert [*list_system_metrics(seen)] == [
        ("system/cpu_utilization_percentage", 50.0, 12_000, 0),
        ("system/system_memory_usage_megabytes", 2000.0, 12_000, 0),
        ("system/system_memory_usage_percentage", 50.0, 12_000, 0),
    ]


def test_every_gpu_of_the_trial_has_its_own_metrics():
    gpu = GpuUse(busy_fraction=0.25, memory_bytes=4_000_000, memory_total_bytes=16_000_000)
    found = {
        name: value for name, value, *_ in list_system_metrics((host_use(), host_use(of=1.0, gpus=(gpu,))))
    }
    assert found["system/gpu_0_utilization_percentage"] == 25.0
    assert found["system/gpu_0_memory_usage_megabytes"] == 4.0
    assert found["system/gpu_0_memory_usage_percentage"] == 25.0


def test_between_looks_of_one_tick_no_share_is_shown():
    names = [name for name, *_ in list_system_metrics((host_use(of=1.0), host_use(of=1.0)))]
    assert "system/cpu_utilization_percentage" not in names


def test_a_single_sample_gives_no_system_metrics():
    assert [*list_system_metrics((host_use(),))] == []
