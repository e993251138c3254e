"""Student's t, for intervals of a few values, and its limit, the normal distribution."""

Z_95 = 1.959964
"""Two-sided 95% of the normal distribution."""

# fmt: off
_T_95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)
# fmt: on
"""Student's t, two-sided 95%, of 1 to 30 degrees of freedom (NIST/SEMATECH e-Handbook, table 1.3.6.7.2)."""


def t_95(freedom: int) -> float:
    """Student's t, two-sided 95%; beyond 30 degrees of freedom that of 30, which is at most 4% too large."""
    return _T_95[min(freedom, len(_T_95)) - 1]
