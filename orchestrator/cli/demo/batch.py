"""The batch chapter: every row answered once, although a node dies without a word."""

from pathlib import Path

from orchestrator.cli.demo.stage import Stage, figure
from orchestrator.cli.interrupt import node_of
from orchestrator.cli.planned import PlannedFile
from orchestrator.cluster import chaos
from orchestrator.model.error import OperationError
from orchestrator.model.event import Event
from orchestrator.model.job import BatchJob
from orchestrator.runtime.batch_log import verify_output

JOB = "ops-nightly"
START_DEADLINE_S, RUN_DEADLINE_S = 300.0, 600.0


def nightly(stage: Stage, planned: PlannedFile, number: int) -> None:
    """Run the batch, kill its node without notice in the middle, and compare input and output by id."""
    story = stage.story
    story.chapter(number, "Nightly batch with the fine-tuned model, with a node killed without notice")
    job = planned.catalog.job(JOB)
    if not isinstance(job, BatchJob):
        raise OperationError(f"{planned.path} has no batch job {JOB}.")
    stage.submit("jobs.batch_infer", JOB)
    begun = stage.wait_for(JOB, ("progress",), START_DEADLINE_S, accept=_in_the_middle)
    story.say(f"{figure(begun, 'rows_done'):.0f} of {figure(begun, 'rows'):.0f} rows are answered")
    node = chaos.interrupt(stage.state, node_of(stage.state, JOB), 0.0)
    story.say(f"[yellow]killed without notice:[/yellow] {node.instance_id} ({node.spec.offer})")
    stage.wait_for(JOB, ("finished",), RUN_DEADLINE_S)
    output = Path(job.output).parent / latest(job.output)
    check = verify_output(str(output), job.input, job.id_column)
    story.say(
        f"[bold]{check.rows_in} rows in, {check.rows_out} answers, {check.rows_failed} in the error table: "
        f"{len(check.missing)} lost, {len(check.doubled)} doubled[/bold]"
    )
    if not check.ok:
        raise OperationError(f"output and input differ: {check}")


def latest(output: str) -> str:
    """Name of the newest dated folder of an output template whose last part holds {date}."""
    template = Path(output)
    found = sorted(template.parent.glob(template.name.replace("{date}", "*")))
    if not found:
        raise OperationError(f"there is no output in {template.parent}.")
    return found[-1].name


def _in_the_middle(event: Event) -> bool:
    data = dict(event.data)
    done, rows = float(data.get("rows_done", 0)), float(data.get("rows", 0))
    return 0 < done < rows
