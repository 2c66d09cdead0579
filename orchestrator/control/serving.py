"""What Serve should run, from the applied catalog, its plan and the models that exist."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from orchestrator.control.planning import Models, Planned, choices
from orchestrator.model.error import InputError
from orchestrator.model.instant import from_iso
from orchestrator.model.job import ServeJob, Task
from orchestrator.model.plan import Choice
from orchestrator.policy import candidates
from orchestrator.policy.observed import PoolFailure, StalledModel
from orchestrator.runtime.serve_config import ServedPart, Service, render


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployed:
    """What was last handed to Serve, when (ISO 8601 UTC, None = never), how often in all, and where each model ran."""

    hash: str = ""
    at: str | None = None
    count: int = 0
    offers: Mapping[tuple[str, str], str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The Serve configuration, its content hash, the services in it, and why others wait (job, reason)."""

    config: Mapping[str, Any]
    hash: str
    services: tuple[Service, ...]
    waits_for: tuple[tuple[str, str], ...]

    @property
    def apps(self) -> tuple[str, ...]:
        """Names of the applications."""
        return tuple(service.job.name for service in self.services)

    @property
    def offers(self) -> tuple[tuple[str, str, str], ...]:
        """Where each model is to run: (job, part, offer)."""
        return tuple((one.job.name, part.name, part.choice.offer) for one in self.services for part in one.parts)


class Unready(Exception):  # noqa: N818 - a reason to wait, not an error
    """A service cannot be served yet."""


def wanted(
    planned: Planned,
    models: Models,
    serve_url: str,
    *,
    deployed: Deployed,
    failures: Sequence[PoolFailure],
    stalled: Sequence[StalledModel],
    now: datetime,
) -> Wanted:
    """Render all services whose models exist and whose parts are placed; the others wait and do not hold them up."""
    place = _Place(planned, deployed, failures, frozenset((one.job, one.part) for one in stalled), now)
    services: list[Service] = []
    waits: list[tuple[str, str]] = []
    for job in planned.catalog.jobs:
        if isinstance(job, ServeJob):
            try:
                services.append(_service(place, job, models))
            except Unready as reason:
                waits.append((job.name, str(reason)))
    address = urlsplit(serve_url)
    config = render(
        services, emulated=planned.emulated, http_host=address.hostname or "127.0.0.1", http_port=address.port or 8000
    )
    digest = hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()[:16]
    return Wanted(config=config, hash=digest, services=tuple(services), waits_for=tuple(waits))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where models may run now."""

    planned: Planned
    deployed: Deployed
    failures: Sequence[PoolFailure]
    stalled: frozenset[tuple[str, str]]
    now: datetime

    def choice(self, job: ServeJob, part: str) -> Choice:
        """The offer the model runs on already, unless it has waited there in vain; else the best without blame.

        A service does not move back once a better offer has recovered: moving costs it a restart.
        """
        placement = self.planned.placement(job.name, part)
        ranked = {choice.offer: choice for choice in choices(placement)} if placement else {}
        current = self.deployed.offers.get((job.name, part))
        in_vain = (job.name, part) in self.stalled and self._failed_since_deployed(current)
        if current in ranked and not in_vain:
            return ranked[current]
        offer = candidates.pick(tuple(ranked), self.failures, self.now)
        if offer is None:
            raise Unready(f"no offer suits its model {part}")
        return ranked[offer]

    def _failed_since_deployed(self, offer: str | None) -> bool:
        since = from_iso(self.deployed.at) if self.deployed.at else self.now
        return any(failure.offer == offer and from_iso(failure.at) > since for failure in self.failures)


def _service(place: _Place, job: ServeJob, models: Models) -> Service:
    if job.task is not Task.GENERATE:
        raise Unready(f"task {job.task.value} is planned and priced, but there is no application that serves it yet")
    if job.quantization is not None and not place.planned.emulated:
        raise Unready("quantised weights are planned for, but engines load weights as they are, which may not fit")
    storage = place.planned.catalog.cluster.storage
    missing = models.missing_inputs(job, place.planned.catalog)
    if missing:
        raise Unready(missing)
    parts = []
    for name, card in job.models:
        choice = place.choice(job, name)
        try:
            path = models.path(card, storage)
        except InputError as error:
            raise Unready(str(error)) from error
        parts.append(
            ServedPart(
                name=name,
                card=card,
                path=path,
                choice=choice,
                cpus=_cpus(place.planned, choice),
                most_replicas=_most_replicas(place.planned, choice),
            )
        )
    return Service(job=job, parts=tuple(parts))


def _most_replicas(planned: Planned, choice: Choice) -> int | None:
    """With a budget, no more replicas than the plan reckoned with at the peak: they were checked against it."""
    if planned.catalog.cluster.budget_usd_per_hour is None or not choice.instances:
        return None
    return max(1, round(choice.peak_instances / choice.instances * choice.parallelism.data))


def _cpus(planned: Planned, choice: Choice) -> int:
    """An accelerator's engine needs one CPU; a CPU engine takes what the machine has, less one for everything else."""
    if choice.accelerator is not None:
        return 1
    offer = next(one for one in planned.prices.offers if one.name == choice.offer)
    return max(1, offer.instance.vcpus - 1)
