"""Assumed spot interruption rates, until the ledger has measured ones."""

GPU_PER_HOUR = 0.05
"""Interruptions per GPU instance and hour: an assumption between two sources that disagree by far.

The AWS Spot Instance Advisor's bands (below 5% ... above 20% of instances a month) mean about 0.0003/h in the worst
band. Probing V100 pools in 2023 (sky spot-traces, 9 zones, 6,300 node-hours) lost 0.1 to 1.4 nodes a node-hour, 0.3 in
the mean, because a fresh node of a scarce type is the first to go. 0.05/h, one in 20 hours, leans to the careful side.
"""

CPU_PER_HOUR = 0.01
"""Interruptions per CPU instance and hour: an assumption; CPU pools are deeper than GPU pools."""


def assumed_per_hour(*, accelerated: bool) -> float:
    """Interruptions per instance and hour of a spot pool."""
    return GPU_PER_HOUR if accelerated else CPU_PER_HOUR
