"""Names of the workloads whose networks are declared: all of the repository's but a script."""

from workloads.registry import workload_names

DECLARED = tuple(name for name in workload_names() if name not in ("script", "causal_lm"))
