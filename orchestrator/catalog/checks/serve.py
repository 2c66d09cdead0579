"""Impossible combinations in serve jobs."""

from collections.abc import Mapping

from orchestrator.catalog.checks.common import check_engine
from orchestrator.catalog.fault import Path
from orchestrator.catalog.report import Report
from orchestrator.catalog.schema.serve import Rule, Serve
from orchestrator.catalog.suggest import nearest
from orchestrator.catalog.tokens import serve_tokens
from orchestrator.model.card import ModelCard
from orchestrator.model.job import Task
from orchestrator.policy.route_rule import always_hidden_by

Parts = Mapping[str, ModelCard | None]
_SUM_TOLERANCE = 1e-6


AUTO = "auto"


def check_serve(job: Serve, path: Path, parts: Parts, report: Report) -> None:
    """Report everything about this service that cannot be."""
    _check_names(parts, path, report)
    _check_replicas(job, path, report)
    _check_traffic(job, path, parts, report)
    if job.route is not None:
        _check_targets(job.route, (*path, "route"), path, parts, report)
        _check_order(job.route, (*path, "route"), report)
    cards = [card for card in parts.values() if card is not None]
    if len(cards) == len(parts):
        check_engine(job.engine, (*path, "engine"), cards, report)
    if job.speculative is not None and job.task is not Task.GENERATE:
        message = f"speculative decoding is for task generate, not {job.task.value}"
        report.check((*path, "speculative"), message, (*path, "task"))


def _check_names(parts: Parts, path: Path, report: Report) -> None:
    """Parts become deployments, whose names know no dot; `auto` is what clients ask for when the routes decide."""
    taken: dict[str, str] = {}
    for part in parts:
        if part == AUTO:
            report.note_key((*path, "models", part), f"{AUTO} stands for the routes' choice; name the part otherwise")
        other = taken.setdefault(part.replace(".", "_"), part)
        if other != part:
            report.note_key((*path, "models", part), f"is too like {other}: dots and underscores count the same here")


def _check_replicas(job: Serve, path: Path, report: Report) -> None:
    replicas, place = job.replicas, (*path, "replicas")
    most, most_path = replicas.max, (*place, "max")
    if most is None:
        return
    if replicas.min > most:
        report.check((*place, "min"), f"min {replicas.min} is above max {most}", most_path)
    if replicas.warm > most:
        report.check((*place, "warm"), f"warm {replicas.warm} is above max {most}", most_path)


def _check_traffic(job: Serve, path: Path, parts: Parts, report: Report) -> None:
    traffic, place = job.traffic, (*path, "traffic")
    if traffic.peak is not None and traffic.peak < traffic.requests_per_second:
        message = f"peak {traffic.peak:g} is below the mean, {traffic.requests_per_second:g} requests per second"
        report.check((*place, "peak"), message, (*place, "requests_per_second"))
    if job.task is Task.GENERATE and traffic.output_tokens == 0:
        report.check((*place, "output_tokens"), "must be more than 0 for task generate", (*path, "task"))
    _check_share(job, path, parts, report)
    _check_tokens(job, place, parts, report)


def _check_tokens(job: Serve, place: Path, parts: Parts, report: Report) -> None:
    cards = [card for card in parts.values() if card is not None]
    if len(cards) < len(parts):
        return
    longest = max(card.context_tokens for card in cards)
    together = sum(serve_tokens(job, longest))
    if together > longest:
        message = f"prompt_tokens and output_tokens, {together:g} together, exceed the longest context, {longest}"
        involved = ((*place, "output_tokens"), *(("models", card.name, "context") for card in cards))
        report.check((*place, "prompt_tokens"), message, *involved)


def _check_share(job: Serve, path: Path, parts: Parts, report: Report) -> None:
    place = (*path, "traffic", "share")
    for name in job.traffic.share:
        if name not in parts:
            report.check(
                (*place, name), f"unknown part {name} of models", (*path, "models"), suggestion=nearest(name, parts)
            )
    total = sum(job.traffic.share.values())
    complete = set(job.traffic.share) == set(parts)
    if total > 1 + _SUM_TOLERANCE or (complete and total < 1 - _SUM_TOLERANCE):
        report.check(place, f"shares sum to {total:g}, not to 1", (*path, "models"))


def _check_targets(rules: tuple[Rule, ...], place: Path, job_path: Path, parts: Parts, report: Report) -> None:
    for index, rule in enumerate(rules):
        card = parts.get(rule.to)
        if rule.to not in parts:
            message = f"unknown part {rule.to} of models"
            report.check((*place, index, "to"), message, (*job_path, "models"), suggestion=nearest(rule.to, parts))
        elif card is not None and rule.max_tokens is not None and rule.max_tokens >= card.context_tokens:
            message = (
                f"{rule.max_tokens} tokens leave no room for a prompt: {card.name} has {card.context_tokens} in all"
            )
            report.check((*place, index, "max_tokens"), message, ("models", card.name, "context"))


def _check_order(rules: tuple[Rule, ...], place: Path, report: Report) -> None:
    """Every rule can decide, and the last one takes what no other does."""
    broken = [report.is_broken((*place, index, "if")) for index in range(len(rules))]
    for index, rule in enumerate(rules):
        hider = next((earlier for earlier in range(index) if _hides(rules[earlier], rule)), None)
        if hider is not None and not broken[index] and not broken[hider]:
            report.add((*place, index), f"is never reached: route[{hider}] takes all that it would")
    if all(rule.when is not None for rule in rules):
        message = "the last rule must have no `if`, so that every request finds a model"
        report.check((*place, len(rules) - 1), message, place)


def _hides(earlier: Rule, later: Rule) -> bool:
    if earlier.when is None:
        return True
    return later.when is not None and always_hidden_by(earlier.when, later.when)
