"""Catalogs: every text that ever placed something, which one is applied, and from when on schedules count."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select
from sqlalchemy.dialects.sqlite import insert as upsert

from orchestrator.ledger.tables import applied, catalogs, schedule_marks
from orchestrator.model.job import Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogText:
    """A catalog as it was handed in. `file` is its name in messages, `base_dir` what its relative paths start from."""

    text: str
    file: str
    base_dir: str

    @property
    def hash(self) -> str:
        """Content hash over text and base folder, 16 hexadecimal digits."""
        return hashlib.sha256(f"{self.base_dir}\0{self.text}".encode()).hexdigest()[:16]


def store(connection: Connection, catalog: CatalogText) -> None:
    """Keep a text, once."""
    row = {"hash": catalog.hash, "text": catalog.text, "file": catalog.file, "base_dir": catalog.base_dir}
    connection.execute(upsert(catalogs).values(row).on_conflict_do_nothing())


def apply(connection: Connection, catalog: CatalogText, at: str) -> None:
    """Make it the applied catalog."""
    store(connection, catalog)
    connection.execute(insert(applied).values(at=at, catalog_hash=catalog.hash))


def get(connection: Connection, catalog_hash: str) -> CatalogText | None:
    """The text with that hash, or None."""
    row = connection.execute(select(catalogs).where(catalogs.c.hash == catalog_hash)).one_or_none()
    return None if row is None else CatalogText(text=row.text, file=row.file, base_dir=row.base_dir)


def current(connection: Connection) -> tuple[CatalogText, str] | None:
    """The applied catalog and when it was applied (ISO 8601 UTC), or None."""
    row = connection.execute(select(applied).order_by(applied.c.id.desc()).limit(1)).one_or_none()
    if row is None:
        return None
    text = get(connection, row.catalog_hash)
    return None if text is None else (text, row.at)


def mark_schedules(connection: Connection, schedules: Iterable[tuple[str, Schedule]], at: str) -> None:
    """Starts of a new or changed schedule count from `at` on; unchanged ones keep their mark, gone ones lose it."""
    known = {row.job: (row.cron, row.timezone) for row in connection.execute(select(schedule_marks))}
    wanted = {job: (schedule.cron, schedule.timezone) for job, schedule in schedules}
    stale = [job for job, when in known.items() if wanted.get(job) != when]
    connection.execute(delete(schedule_marks).where(schedule_marks.c.job.in_(stale)))
    for job, (cron, timezone) in wanted.items():
        row = {"job": job, "cron": cron, "timezone": timezone, "after": at}
        connection.execute(upsert(schedule_marks).values(row).on_conflict_do_nothing())


def advance_mark(connection: Connection, job: str, start: str) -> None:
    """That start has been dealt with."""
    connection.execute(schedule_marks.update().where(schedule_marks.c.job == job).values(after=start))


def marks(connection: Connection) -> tuple[tuple[str, str], ...]:
    """Job → instant after which its starts are due, by job."""
    query = select(schedule_marks.c.job, schedule_marks.c.after).order_by(schedule_marks.c.job)
    return tuple((row.job, row.after) for row in connection.execute(query))
