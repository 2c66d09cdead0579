"""Placement: which hardware for which job, with the reasons. Pure: prices and `now` are arguments.

suitable → score (training, batch, serving) → solve → explain; `place` is the one entry, for dry run, what-if and the
real thing.
"""

from orchestrator.placement.explain import explain
from orchestrator.placement.place import place
from orchestrator.placement.render import plan_as_dict
from orchestrator.placement.training import micro_batch, shards

__all__ = ["explain", "micro_batch", "place", "plan_as_dict", "shards"]
