"""What a plan costs beside other ways to choose, all costed by the same estimates."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.catalogs import Limits, catalog_text, enlarged
from benchmarks.examined import NOWHERE, Examination, Options, cheapest, examination, tight_limits
from orchestrator.catalog import load_text
from orchestrator.model.catalog import Catalog
from orchestrator.model.job import ServeJob
from orchestrator.model.offer import PriceBook
from orchestrator.model.plan import Plan
from orchestrator.offers import load_snapshot
from orchestrator.placement import place
from orchestrator.placement.hardware import CPU

ALTERNATIVES = ("cheapest_per_hour", "one_accelerator_type")
FURTHER_SEEDS = 4
NEARLY_ALL = 0.9
"""Part of the work that a type must suit to be taken for everything. A type that suits little would be no alternative:
the rest falls back to what the plan does."""


def compared(jobs: int, seed: int, offers: int, now: str) -> dict[str, Any]:
    """A mixed catalog without limits beside each alternative, the same for further seeds and without the accelerator
    that the plan likes best, and under tight limits, which the alternatives do not know."""
    free, book = _drawn(jobs, seed, offers)
    others = [_free(*_drawn(jobs, seed + step, offers), now) for step in range(1, FURTHER_SEEDS + 1)]
    unlimited = _free(free, book, now)
    favourite = max(unlimited["ours"]["accelerators"].items(), key=lambda counted: counted[1])[0]
    return {
        "jobs": jobs,
        "seed": seed,
        "unlimited": unlimited,
        "times_ours_by_seed": {
            name: [each[name]["times_ours"] for each in (unlimited, *others)] for name in ALTERNATIVES
        },
        "without_favourite": {"accelerator": favourite, **_free(free, _without(book, favourite), now)},
        **{
            name: _limited(catalog(jobs, seed, limits), book, now, unlimited["one_accelerator_type"]["type"])
            for name, limits in tight_limits(free, book, now).items()
        },
    }


def catalog(jobs: int, seed: int, limits: Limits | None) -> Catalog:
    """The generated catalog, read by the real loader."""
    return load_text(catalog_text(jobs, random.Random(seed), limits), "generated.yaml", Path.cwd())


def _drawn(jobs: int, seed: int, offers: int) -> tuple[Catalog, PriceBook]:
    return catalog(jobs, seed, None), enlarged(load_snapshot(), random.Random(seed), offers)


def _without(book: PriceBook, accelerator: str) -> PriceBook:
    """The book without an accelerator type ("cpu": without machines that have none)."""
    kept = [
        offer
        for offer in book.offers
        if (offer.instance.accelerator.name if offer.instance.accelerator else CPU) != accelerator
    ]
    return replace(book, offers=tuple(kept))


def _free(asked: Catalog, book: PriceBook, now: str) -> dict[str, Any]:
    """Without limits: the plan and both alternatives, for the work that can be placed."""
    shared = place(asked, book, now)
    asked = without_shares(asked)
    plan = place(asked, book, now)
    found = examination(asked, book, now)
    ours = chosen_rows(plan, found)
    usd = found.usd_per_month(ours)
    return {
        "pieces_of_work": len(ours),
        "ours": _ours(plan, found, ours),
        "ours_with_shared_accelerators": _times(
            {"usd_per_month": float(shared.objective_usd_per_month), "mode": shared.mode, "gap": shared.gap}, usd
        ),
        "cheapest_per_hour": _beside(found, found.choose(cheapest_per_hour), usd),
        "one_accelerator_type": _one_type(found, usd),
    }


def _limited(asked: Catalog, book: PriceBook, now: str, accelerator: str) -> dict[str, Any]:
    """Under limits: the plan, and by how much the alternatives would break them."""
    asked = without_shares(asked)
    plan = place(asked, book, now)
    found = examination(asked, book, now)
    ours = chosen_rows(plan, found)
    return {
        "pieces_of_work": len(ours),
        "ours": _ours(plan, found, ours),
        "cheapest_per_hour": _answer(found, found.choose(cheapest_per_hour)),
        "one_accelerator_type": _with_type(found, accelerator),
    }


def without_shares(asked: Catalog) -> Catalog:
    """The catalog without shared accelerators, which the alternatives do not have either."""
    jobs = tuple(replace(job, sharing=False) if isinstance(job, ServeJob) else job for job in asked.jobs)
    return replace(asked, jobs=jobs)


def _ours(plan: Plan, found: Examination, rows: Sequence[int]) -> dict[str, Any]:
    return {
        **_answer(found, rows),
        "plan_usd_per_month": float(plan.objective_usd_per_month),
        "lower_bound_usd_per_month": float(plan.lower_bound_usd),
        "mode": plan.mode,
        "gap": plan.gap,
        "accelerators": _hardware(found, rows),
    }


def chosen_rows(plan: Plan, found: Examination) -> tuple[int, ...]:
    """The plan's choice as rows of the options."""
    offers: dict[str, str | None] = {}
    for job in plan.jobs:
        for part, placement in job.parts or ((None, job.placement),):
            name = f"{job.name}/{part}" if part else job.name
            offers[name] = placement.chosen.offer if placement.chosen else None
    return tuple(each.row(offers[each.work]) for each in found.options)


def cheapest_per_hour(options: Options) -> int:
    """SkyPilot's rule: without an estimate of its own every hardware takes an hour, so the offer with the least price
    of one instance wins; among equals the one that costs least in the end."""
    return int(np.argmin(options.instance_usd_per_hour)) if len(options.offers) else NOWHERE


def _one_type(found: Examination, usd: float) -> dict[str, Any]:
    """One accelerator type for everything that runs on it, the cheapest suitable hardware for the rest: of the types
    that suit nearly all work the cheapest; the others are listed."""
    types = sorted({name for each in found.options for name in each.accelerators.tolist()} - {CPU})
    answers = {name: _times(_with_type(found, name), usd) for name in types}
    most = sum(len(each.offers) > 0 for each in found.options) * (1 - NEARLY_ALL)
    common = [name for name in types if answers[name]["fell_back"] <= most] or types
    best = min(common, key=lambda name: answers[name]["usd_per_month"])
    return {"type": best, **answers[best], "others": {name: answers[name] for name in types if name != best}}


def _with_type(found: Examination, accelerator: str) -> dict[str, Any]:
    rows = found.choose(lambda options: _first(options, accelerator))
    fell_back = sum(
        row != NOWHERE and options.accelerators[row] != accelerator
        for options, row in zip(found.options, rows, strict=True)
    )
    return {"fell_back": int(fell_back), **_answer(found, rows)}


def _first(options: Options, accelerator: str) -> int:
    with_it = np.flatnonzero(options.accelerators == accelerator)
    return int(with_it[0]) if len(with_it) else cheapest(options)


def _beside(found: Examination, rows: Sequence[int], usd: float) -> dict[str, Any]:
    return _times(_answer(found, rows), usd)


def _times(answer: dict[str, Any], usd: float) -> dict[str, Any]:
    return {**answer, "times_ours": round(answer["usd_per_month"] / usd, 4) if usd else None}


def _answer(found: Examination, rows: Sequence[int]) -> dict[str, Any]:
    return {
        "usd_per_month": round(found.usd_per_month(rows), 2),
        "placed": sum(row != NOWHERE for row in rows),
        "times_over_limits": found.exceeded(rows),
    }


def _hardware(found: Examination, rows: Sequence[int]) -> dict[str, int]:
    counted = Counter(
        str(options.accelerators[row]) for options, row in zip(found.options, rows, strict=True) if row != NOWHERE
    )
    return dict(sorted(counted.items()))
