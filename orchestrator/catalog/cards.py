"""Model cards, and references to them: a card's name, or `run:NAME` for what another job trains."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from orchestrator.catalog import hf_config, location
from orchestrator.catalog.fault import Path as FaultPath
from orchestrator.catalog.quantity import alternatives
from orchestrator.catalog.report import Report
from orchestrator.catalog.schema.card import Card
from orchestrator.catalog.schema.common import Job
from orchestrator.catalog.schema.train import Train
from orchestrator.catalog.storage import StorageError
from orchestrator.catalog.suggest import nearest
from orchestrator.model.card import Dtype, ModelCard

RUN = "run:"


@dataclass(frozen=True, slots=True)
class Shelf:
    """All cards of the catalog (None = broken, its fault is reported), and the jobs whose results may be used."""

    cards: Mapping[str, ModelCard | None]
    jobs: Mapping[str, Job | None]
    storage: str

    def find(self, ref: str, path: FaultPath, report: Report) -> ModelCard | None:
        """The card a job's `model` means; None after a fault, here or in what it refers to."""
        if not ref.startswith(RUN):
            return self._card(ref, path, report)
        name, seen = ref, list[str]()
        while name.startswith(RUN):
            if name in seen:
                report.check(path, f"is a circle: {' needs '.join([*seen, name])}")
                return None
            seen.append(name)
            trained = self._run(name, path, report, first=len(seen) == 1)
            if trained is None:
                return None
            name = trained.model
        base = self.cards.get(name)
        if base is None:
            return None
        run = ref.removeprefix(RUN)
        return replace(base, name=ref, source=location.within(self.storage, "models", run), run=run)

    def _card(self, ref: str, path: FaultPath, report: Report) -> ModelCard | None:
        if ref not in self.cards:
            if ref in self.jobs:
                report.check(path, f"unknown model {ref}; a job's result is written {RUN}{ref}", suggestion=RUN + ref)
            else:
                known = [*self.cards, *(RUN + name for name, job in self.jobs.items() if isinstance(job, Train))]
                report.check(path, f"unknown model {ref}", suggestion=nearest(ref, known))
        return self.cards.get(ref)

    def _run(self, ref: str, path: FaultPath, report: Report, *, first: bool) -> Train | None:
        name = ref.removeprefix(RUN)
        if name not in self.jobs:
            trains = [each for each, job in self.jobs.items() if isinstance(job, Train)]
            near = nearest(name, trains)
            if first:
                report.check(path, f"{ref} names no job", suggestion=RUN + near if near else None)
            return None
        job = self.jobs[name]
        if job is not None and not isinstance(job, Train):
            if first:
                report.check(path, f"{ref} names a job that trains no model")
            return None
        return job


def card(name: str, written: Card, base_dir: Path, region: str, report: Report) -> ModelCard | None:
    """The card with its figures completed from the model's own config.json where some are not written."""
    path = ("models", name)
    source = location.absolute(written.source, base_dir)
    figures: dict[str, Any] = written.model_dump(exclude={"source"}, exclude_none=True)
    missing = [key for key in hf_config.FIGURES if key not in figures]
    reason = ""
    if missing and not report.is_broken(path):
        try:
            figures = {**hf_config.read_figures(source, region), **figures}
        except StorageError as error:
            reason = str(error)
        missing = [key for key in hf_config.FIGURES if key not in figures]
        if missing:
            report.add(path, _missing(missing, reason, source))
    if missing:
        return None
    return _complete(name, source, figures, report)


def _missing(missing: list[str], reason: str, source: str) -> str:
    why = reason or f"{source}/config.json does not say them"
    return f"needs {alternatives(tuple(missing)).replace(' or ', ' and ')}: {why}"


def _complete(name: str, source: str, figures: Mapping[str, Any], report: Report) -> ModelCard:
    path = ("models", name)
    heads, hidden = figures["heads"], figures["hidden"]
    kv_heads = figures.get("kv_heads", heads)
    if heads % kv_heads:
        report.check((*path, "kv_heads"), f"{heads} heads cannot share {kv_heads} kv_heads evenly", (*path, "heads"))
    if "head_dim" not in figures and hidden % heads:
        report.check((*path, "hidden"), f"{hidden} is no multiple of {heads} heads; give head_dim", (*path, "heads"))
    return ModelCard(
        name=name,
        source=source,
        params=float(figures["params"]),
        layers=figures["layers"],
        hidden_size=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=figures.get("head_dim", max(hidden // heads, 1)),
        context_tokens=figures["context"],
        dtype=Dtype(figures.get("dtype", "bf16")),
    )
