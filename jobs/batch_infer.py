"""Nightly batch inference: one output row for every input id, whatever happens to nodes or to this driver.

    ray job submit --working-dir . -- python -m jobs.batch_infer --job NAME

Submit again after any failure: finished shards are kept, a finished night is left alone (`--redo` makes it anew).
"""

import argparse
import hashlib
import json
import os
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from orchestrator.model.assignment import Assignment
from orchestrator.model.error import InputError, OperationError, OrchestratorError
from orchestrator.model.job import BatchJob
from orchestrator.runtime import batch_input, batch_rows, engine, model_source
from orchestrator.runtime.batch_log import ShardLog, ShardStat
from orchestrator.runtime.batch_progress import Progress, progress
from orchestrator.runtime.batch_shard import BatchSpec
from orchestrator.runtime.controller import Controller

REPORT_EVERY_S = 5.0
METRICS = ("ids", "rows", "errors", "prompt_tokens", "output_tokens", "seconds", "attempts", "model")
"""What of the manifest the controller is told at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """One output to make: where from, where to, and everything that decides what the answers are."""

    job: BatchJob
    input: str
    output: str
    model: str
    columns: tuple[str, ...]
    engine: dict[str, Any]
    max_tokens: int

    @property
    def settings(self) -> str:
        """Stands for all that decides the answers; results made with other settings are not reused."""
        decisive = [self.job.prompt, self.model, self.job.id_column, self.max_tokens, self.engine["max_model_len"]]
        return hashlib.sha256(json.dumps(decisive).encode()).hexdigest()[:16]


def main() -> int:
    """Parse the command line and run the job; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m jobs.batch_infer", description=__doc__.splitlines()[0])
    parser.add_argument("--job", required=True, help="name of a batch job in the catalog")
    parser.add_argument("--catalog", type=Path, help="catalog file; default: the one applied to the cluster")
    parser.add_argument("--date", help="YYYY-MM-DD for {date} in paths; default: that of the run")
    parser.add_argument("--redo", action="store_true", help="throw a finished or begun output away and make it anew")
    args = parser.parse_args()
    try:
        infer(args.job, args.catalog, args.date, redo=args.redo)
    except OrchestratorError as error:
        print(f"batch_infer: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def infer(name: str, catalog: Path | None, date: str | None, *, redo: bool) -> None:
    """Get a placement for the job, make its output, and tell the controller how it went."""
    if catalog and not catalog.is_file():
        raise InputError(f"{catalog} does not exist;", "name a catalog file, or leave --catalog out")
    text = catalog.read_text(encoding="utf-8") if catalog else None
    base_dir = str(catalog.resolve().parent) if catalog else None
    with Controller.from_env() as controller:
        assignment = controller.begin_run(name, catalog_text=text, base_dir=base_dir, kind="batch")
        run_id = assignment.run_id
        try:
            night = tonight(assignment, date)
            controller.report(run_id, "started", f"{night.input} -> {night.output}", attempt=assignment.attempt)
            manifest = make_output(night, assignment, controller, redo=redo)
        except OrchestratorError as error:
            controller.report(run_id, "failed", str(error))
            raise
        made = f"{manifest['rows']} answers, {manifest['errors']} error rows in {night.output}"
        controller.report(run_id, "finished", made, **{key: manifest[key] for key in METRICS})
        print(f"batch {name}: {made}")


def tonight(assignment: Assignment, date: str | None) -> Night:
    """Fill in date, model and engine."""
    job = assignment.job
    if not isinstance(job, BatchJob):
        raise InputError(f"job {job.name} is of kind {job.kind.value};", "batch_infer runs jobs of kind batch")
    day = date or assignment.date or datetime.fromtimestamp(time.time(), UTC).date().isoformat()
    compute = engine.compute_on(assignment.accelerator, emulated=assignment.emulated)
    return Night(
        job=job,
        input=job.input.replace("{date}", day),
        output=job.output.replace("{date}", day).rstrip("/"),
        model=model_source.location(job.model, assignment.storage),
        columns=batch_rows.template_columns(job.prompt),
        engine=engine.engine_kwargs(job.engine, job.model, compute, assignment.tensor_parallel),
        max_tokens=batch_rows.answer_limit(job.output_tokens),
    )


def make_output(night: Night, assignment: Assignment, controller: Controller, *, redo: bool) -> dict[str, Any]:
    """Answer what is not answered yet and write the manifest; returns it. A finished night is returned as it is."""
    log = ShardLog(night.output)
    if redo:
        log.clear()
    finished = log.manifest()
    if finished is not None:
        changed = "" if finished["settings"] == night.settings else ", with another model or prompt"
        print(f"{night.output} is complete since {finished['finished_at']}{changed}; --redo makes it anew")
        return finished
    required = batch_rows.required_columns(night.job.prompt)
    index = batch_input.index_input(night.input, night.job.id_column, required)
    shards = batch_input.cut(index, night.settings)
    log.drop_others(shards)
    before = [stat for stat in map(log.stat, shards) if stat is not None]
    done = {stat.shard for stat in before}
    pending = [shard for shard in shards if shard.name not in done]
    stats = before + answer_pending(night, assignment, controller, pending, before)
    log.drop_others(shards)
    manifest = summary(night, assignment, index, stats)
    if manifest["rows"] + manifest["errors"] != index.rows:
        found = f"{manifest['rows']} answers and {manifest['errors']} error rows for {index.rows} ids"
        raise OperationError(f"{night.output} holds {found};", "submit again with --redo")
    log.finish(manifest)
    return manifest


def answer_pending(
    night: Night,
    assignment: Assignment,
    controller: Controller,
    pending: list[batch_input.Shard],
    before: list[ShardStat],
) -> list[ShardStat]:
    """Run the engines over the shards that have no result, reporting as they come in."""
    if not pending:
        return []
    import ray
    from ray.data.exceptions import ExecutionTimeoutError

    from orchestrator.runtime.batch import run_shards

    spec = BatchSpec(
        output=night.output,
        id_column=night.job.id_column,
        columns=night.columns,
        template=night.job.prompt,
        model=night.model,
        engine=night.engine,
        max_tokens=night.max_tokens,
        attempt=assignment.attempt,
    )
    compute = engine.compute_on(assignment.accelerator, emulated=assignment.emulated)
    env = engine.engine_env(compute, threads=os.cpu_count() or 1)
    rows = sum(shard.rows for shard in pending) + sum(stat.rows + stat.errors for stat in before)
    stats: list[ShardStat] = []
    first_at, reported_at = 0.0, 0.0
    try:
        for stat in run_shards(spec, pending, assignment, env):
            stats.append(stat)
            now = time.monotonic()
            first_at = first_at or now - stat.seconds
            if now - reported_at >= REPORT_EVERY_S or len(stats) == len(pending):
                reported_at = now
                report_progress(controller, assignment.run_id, progress(rows, before, stats, now - first_at))
    except (ray.exceptions.RayError, ExecutionTimeoutError) as error:
        raise OperationError(
            f"{len(stats)} of {len(pending)} shards done, then: {error}", "Submit again to continue."
        ) from error
    return stats


def report_progress(controller: Controller, run_id: str, at: Progress) -> None:
    """One line in the job's log, and the figures to the controller."""
    print(at.line, flush=True)
    controller.report(
        run_id,
        "progress",
        at.line,
        rows_done=at.rows_done,
        rows=at.rows,
        errors=at.errors,
        tokens_per_s=round(at.tokens_per_s, 1),
        eta_s=round(at.eta_s or 0.0, 1),
    )


def summary(
    night: Night, assignment: Assignment, index: batch_input.InputIndex, stats: list[ShardStat]
) -> dict[str, Any]:
    """The manifest: what was asked, what came of it."""
    return {
        "job": night.job.name,
        "run_id": assignment.run_id,
        "finished_at": datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="seconds"),
        "emulated": assignment.emulated,
        "attempts": assignment.attempt,
        "input": night.input,
        "model": night.model,
        "settings": night.settings,
        "ids": index.rows,
        "checksum": index.checksum,
        "rows": sum(stat.rows for stat in stats),
        "errors": sum(stat.errors for stat in stats),
        "prompt_tokens": sum(stat.prompt_tokens for stat in stats),
        "output_tokens": sum(stat.output_tokens for stat in stats),
        "seconds": round(sum(stat.seconds for stat in stats), 3),
        "shards": [stat.shard for stat in stats],
    }


if __name__ == "__main__":
    sys.exit(main())
