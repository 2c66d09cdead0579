"""A plan as JSON-ready values: the contract of `plan --json`, which the controller's API returns too."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from orchestrator.model.plan import Choice, JobPlan, Placement, Plan, Rejection

MOST_CANDIDATES = 10


def plan_as_dict(plan: Plan, timings: Mapping[str, float]) -> dict[str, Any]:
    """The plan with `timings` in seconds; the same plan gives the same bytes."""
    return {
        "now": plan.now,
        "prices_as_of": plan.prices_as_of,
        "timings": dict(timings),
        "solver": {"mode": plan.mode, "lower_bound_usd": _number(plan.lower_bound_usd), "gap": plan.gap},
        "objective_usd_per_month": _number(plan.objective_usd_per_month),
        "warnings": list(plan.warnings),
        "jobs": {job.name: _job(job) for job in plan.jobs},
    }


def _job(job: JobPlan) -> dict[str, Any]:
    found: dict[str, Any] = {
        "kind": job.kind.value,
        "status": job.placement.status.value,
        "expected_usd": None if job.expected_usd is None else _number(job.expected_usd),
        **_answers(job.placement),
    }
    if job.parts:
        found["parts"] = {
            name: {"status": placement.status.value, **_answers(placement)} for name, placement in job.parts
        }
    return found


def _answers(placement: Placement) -> dict[str, Any]:
    return {
        "chosen": _choice(placement.chosen) if placement.chosen else None,
        "candidates": [_choice(choice) for choice in placement.candidates[:MOST_CANDIDATES]],
        "rejections": [_rejection(rejection) for rejection in placement.rejections],
    }


def _choice(choice: Choice) -> dict[str, Any]:
    return {
        "offer": choice.offer,
        "instance_type": choice.instance_type,
        "accelerator": choice.accelerator,
        "accelerators_per_instance": choice.accelerators_per_instance,
        "instances": _count(choice.instances),
        "market": choice.market.value,
        "zone": choice.zone,
        "pools": [
            {"offer": pool.offer, "market": pool.market.value, "zone": pool.zone, "instances": _count(pool.instances)}
            for pool in choice.pools
        ],
        "parallelism": {"tensor": choice.parallelism.tensor, "data": choice.parallelism.data},
        "usd_per_hour": _number(choice.usd_per_hour),
        "expected_usd": _number(choice.expected_usd),
        "expected_seconds": choice.expected_seconds,
        "costs": {name: _number(usd) for name, usd in choice.costs},
        "basis": choice.basis.value,
    }


def _rejection(rejection: Rejection) -> dict[str, Any]:
    return {
        "reason": rejection.reason,
        "needed": rejection.needed,
        "available": rejection.available,
        "unit": rejection.unit,
        "offers": list(rejection.offers),
    }


def _number(amount: Decimal) -> float:
    return float(amount)


def _count(instances: float) -> float | int:
    return int(instances) if instances == int(instances) else instances
