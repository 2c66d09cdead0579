"""Reads a catalog: text → tree → checked sections → model. Every fault found on the way is reported, all at once."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.catalog import build, cards, location, messages, yaml_text
from orchestrator.catalog.cards import Shelf
from orchestrator.catalog.checks.batch import check_batch
from orchestrator.catalog.checks.serve import check_serve
from orchestrator.catalog.checks.train import check_train
from orchestrator.catalog.node import MapNode, plain
from orchestrator.catalog.piece import validate
from orchestrator.catalog.quantity import QuantityError, alternatives, shown
from orchestrator.catalog.report import Report
from orchestrator.catalog.schema.batch import Batch
from orchestrator.catalog.schema.card import Card
from orchestrator.catalog.schema.cluster import DEFAULT_MAX_WORKERS, Cluster
from orchestrator.catalog.schema.common import Job
from orchestrator.catalog.schema.document import JOBS, VERSION, Document
from orchestrator.catalog.schema.serve import Serve
from orchestrator.catalog.schema.train import Train
from orchestrator.catalog.suggest import nearest
from orchestrator.model import job as model
from orchestrator.model.card import ModelCard
from orchestrator.model.catalog import Catalog, ClusterSpec

_CLUSTER_PLACEHOLDERS = {"provider": "local", "region": "us-east-1", "storage": "."}
_UNKNOWN_STORAGE = "."


def load(path: Path | str) -> Catalog:
    """The catalog in a file. Relative locations in it start from its folder. Raises CatalogError with every fault.

    Faults name the file exactly as `path` is written, so give a text where the user typed one.
    """
    file_name = str(path)
    report = Report(file_name)
    text = _read_text(Path(path), report)
    report.raise_if_any()
    return load_text(text, file_name, Path(path).absolute().parent)


def load_text(text: str, file_name: str, base_dir: Path) -> Catalog:
    """The catalog in a text; `file_name` is what its faults name, `base_dir` where its relative locations start.

    Jobs of the result are sorted by name. Raises CatalogError with every fault.
    """
    report = Report(file_name)
    root = yaml_text.parse(text, report.note_at)
    if isinstance(root, MapNode):
        report.use(root)
        draft = _draft(plain(root), base_dir, report)
        cards_by_job = _check_jobs(draft, report)
        report.raise_if_any()
        return _build(draft, cards_by_job, base_dir)
    if root is not None:
        report.note_at(
            root.mark, (), f"must be a mapping with `version`, `cluster`, `models` and `jobs`, not {shown(plain(root))}"
        )
    report.raise_if_any()
    raise AssertionError("a text without a tree has a fault")


def _read_text(path: Path, report: Report) -> str:
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            report.note_at((1, 1), (), "cannot be read: it is no regular file")
            return ""
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        report.note_at((1, 1), (), f"cannot be read: {reason.lower()}")
        return ""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", errors="replace")
        mark = yaml_text.mark_at(before, len(before))
        report.note_at(mark, (), f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8")
        return ""


@dataclass(frozen=True, slots=True)
class _Draft:
    """The sections that could be read. A job is None where it is too broken to check."""

    cluster: Cluster | None
    shelf: Shelf
    jobs: dict[str, Job | None]

    @property
    def max_workers(self) -> int:
        return self.cluster.max_workers if self.cluster else DEFAULT_MAX_WORKERS


def _draft(raw: dict[str, Any], base_dir: Path, report: Report) -> _Draft:
    _check_top(raw, report)
    cluster = (
        validate(Cluster, raw["cluster"], ("cluster",), report, _CLUSTER_PLACEHOLDERS) if "cluster" in raw else None
    )
    jobs = {name: _job(name, each, report) for name, each in _named(raw, "jobs", report)}
    written = {
        name: validate(Card, each, ("models", name), report, {"source": "."})
        for name, each in _named(raw, "models", report)
    }
    region = cluster.region if cluster else _CLUSTER_PLACEHOLDERS["region"]
    shelf = Shelf(
        cards={name: each and cards.card(name, each, base_dir, region, report) for name, each in written.items()},
        jobs=jobs,
        storage=location.absolute(cluster.storage if cluster else _UNKNOWN_STORAGE, base_dir),
    )
    return _Draft(cluster, shelf, jobs)


def _check_top(raw: dict[str, Any], report: Report) -> None:
    known = messages.keys(Document)
    meant = set()
    for key in raw:
        if key not in known:
            suggestion = nearest(key, [each for each in known if each not in raw])
            meant.add(suggestion)
            report.add((key,), "unknown key", suggestion, at_key=True)
    if "cluster" not in raw and "cluster" not in meant:
        report.add(("cluster",), "is required")
    version = raw.get("version", VERSION)
    if version != VERSION or isinstance(version, bool | float):
        report.add(("version",), f"must be {VERSION}, the version this orchestrator reads, not {shown(version)}")


def _named(raw: dict[str, Any], section: str, report: Report) -> list[tuple[str, Any]]:
    """The entries of `models` or `jobs`, an empty section among them; entries with an unusable name are faults."""
    entries = raw.get(section)
    if entries is None:
        return []
    if not isinstance(entries, dict):
        report.add((section,), f"must be a mapping of names, not {shown(entries)}")
        return []
    for name in entries:
        try:
            location.name(name)
        except QuantityError as error:
            report.note_key((section, name), f"name {error.message}")
    return list(entries.items())


def _job(name: str, raw: Any, report: Report) -> Job | None:
    path = ("jobs", name)
    if not isinstance(raw, dict):
        report.add(path, f"must be a mapping, not {shown(raw)}")
        return None
    kind = raw.get("kind")
    if not isinstance(kind, str) or kind not in JOBS:
        near = nearest(kind, JOBS) if isinstance(kind, str) else None
        if "kind" in raw:
            report.add((*path, "kind"), f"must be {alternatives(tuple(JOBS))}, not {shown(kind)}", near)
        else:
            report.add((*path, "kind"), f"is required: {alternatives(tuple(JOBS))}")
        if near is None:
            return None
        raw["kind"] = kind = near
    section = JOBS[kind]
    return validate(section, raw, path, report, section.placeholders)


def _check_jobs(draft: _Draft, report: Report) -> dict[str, dict[str, ModelCard | None]]:
    """Cross-check every job; returns the cards each uses, by part ("" for a job with one model)."""
    used: dict[str, dict[str, ModelCard | None]] = {}
    for name, job in draft.jobs.items():
        path = ("jobs", name)
        match job:
            case Train() | Batch():
                card = draft.shelf.find(job.model, (*path, "model"), report)
                used[name] = {"": card}
                if isinstance(job, Train):
                    check_train(job, path, card, draft.max_workers, report)
                else:
                    check_batch(job, path, card, draft.max_workers, report)
            case Serve():
                parts = {
                    part: draft.shelf.find(ref, (*path, "models", part), report) for part, ref in job.models.items()
                }
                used[name] = parts
                check_serve(job, path, parts, report)
    return used


def _build(draft: _Draft, used: dict[str, dict[str, ModelCard | None]], base_dir: Path) -> Catalog:
    """The model of a draft without faults: its cluster, its jobs and their cards are all there."""
    assert draft.cluster is not None
    cluster = build.cluster_spec(draft.cluster, base_dir)
    jobs = [_build_job(name, draft.jobs[name], _present(used[name]), cluster, base_dir) for name in sorted(draft.jobs)]
    return Catalog(version=VERSION, cluster=cluster, jobs=tuple(jobs))


def _present(parts: dict[str, ModelCard | None]) -> dict[str, ModelCard]:
    return {part: card for part, card in parts.items() if card is not None}


def _build_job(
    name: str, job: Job | None, parts: dict[str, ModelCard], cluster: ClusterSpec, base_dir: Path
) -> model.Job:
    match job:
        case Train():
            return build.train_job(name, job, parts[""], cluster, base_dir)
        case Batch():
            return build.batch_job(name, job, parts[""], cluster, base_dir)
        case Serve():
            return build.serve_job(name, job, parts, cluster)
    raise AssertionError(f"{name} was checked without being read")
