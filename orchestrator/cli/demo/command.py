"""`orchestrator demo`: plan, cluster, fine-tune with an interruption, batch with a kill, service, bill, all down."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.controller_client import ask
from orchestrator.cli.cost import show_bill
from orchestrator.cli.demo import batch, catalog, serving, training
from orchestrator.cli.demo.stage import Stage
from orchestrator.cli.demo.story import Story
from orchestrator.cli.plan import table, wide_console
from orchestrator.cli.planned import PlannedFile
from orchestrator.cli.state_dir_option import state_of
from orchestrator.cli.status import history
from orchestrator.cluster import lifecycle
from orchestrator.cluster.autoscaling_config import Scaling
from orchestrator.cluster.held_signals import held_back
from orchestrator.cluster.lifecycle import UpOptions
from orchestrator.cluster.ray_process import shell_environment
from orchestrator.cluster.state import StateDir, write_atomically
from orchestrator.control.compose import utc_now
from orchestrator.control.views import cost_json
from orchestrator.model.error import InputError, OperationError

DEFAULT_CATALOG = Path("jobs/catalog.yaml")
DEFAULT_STATE_DIR = Path(".orchestrator/demo")
MARKER = ".made-by-orchestrator-demo"
MARKER_TEXT = "`orchestrator demo` made this folder and empties it when it starts again.\n"
IDLE_TIMEOUT_S = 45.0
"""Short, so that the demo's bill shows little idle time; `up` gives nodes a minute."""


def demo(
    file: Annotated[Path, typer.Option("--catalog", metavar="CATALOG", help="The demo's catalog.")] = DEFAULT_CATALOG,
    state_dir: Annotated[Path, typer.Option(metavar="DIR", help="Emptied first.")] = DEFAULT_STATE_DIR,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the cluster running and print its URLs.")] = False,
) -> None:
    """Tell the whole story on this machine: emulated nodes, everything else is real."""
    if not Path("jobs", "finetune.py").exists():
        raise InputError("the demo needs the project's folder, with jobs/ in it.", "Run it from there.")
    story = Story(wide_console())
    state = state_of(state_dir)
    check_ours(state)
    planned, text = catalog.read(file, state.root)
    catalog.check_inputs(planned)
    start_clean(state)
    write_atomically(state.root / MARKER, MARKER_TEXT.encode())
    write_atomically(state.root / catalog.COPY, text.encode())
    story.chapter(1, "The plan: every job on the cheapest hardware that suits it")
    story.console.print(table(planned.plan))
    with running(story, state, planned, text, keep=keep) as stage:
        training.fine_tune(stage, 3)
        batch.nightly(stage, planned, 4)
        training.small_model(stage, 5)
        serving.talk(stage, planned, 6)
        bill(stage, 7)
        if keep:
            keep_running(stage)
    if not keep:
        story.say("everything is shut down; the ledger stays in " + str(state.root / "ledger.db"))
    story.say(f"[bold]done in {story.elapsed_s / 60:.1f} minutes[/bold]")


def check_ours(state: StateDir) -> None:
    """Refuse a folder that holds anything and was not made by a demo, which leaves a mark of its own in it."""
    root = state.root
    if not root.exists() or (root.is_dir() and not any(root.iterdir())):
        return
    if root.is_dir() and (root / MARKER).is_file() and (root / MARKER).read_text(errors="replace") == MARKER_TEXT:
        return
    raise InputError(f"{root} was not made by the demo.", "Choose another --state-dir: this one would be emptied.")


def start_clean(state: StateDir) -> None:
    """End what an earlier demo left running, and forget it."""
    check_ours(state)
    if state.root.exists():
        lifecycle.down(state)
        shutil.rmtree(state.root)


@contextmanager
def running(story: Story, state: StateDir, planned: PlannedFile, text: str, *, keep: bool) -> Iterator[Stage]:
    """The cluster, taken down again however the story ends (unless it is to be kept and the story ended well)."""
    story.chapter(2, "The cluster: Ray's own autoscaler over emulated nodes")
    try:
        with story.console.status("starting the cluster …"):
            scaling = Scaling(max_workers=planned.catalog.cluster.max_workers, idle_timeout_s=IDLE_TIMEOUT_S)
            cluster = lifecycle.up(state, planned.node_types, UpOptions(scaling=scaling))
        story.say(f"cluster {cluster.name} is up, dashboard {cluster.dashboard_url}")
        body = {"text": text, "file": str(planned.path), "base_dir": str(planned.path.parent)}
        answer = ask(state, "PUT", "/v1/catalog", json=body)
        if not answer.is_success:
            raise OperationError(f"the controller does not take the catalog: {answer.text[:500]}")
        types = sorted({each.offer.instance.name for each in planned.node_types})
        story.say(f"catalog applied; the autoscaler may launch {', '.join(types)}, and starts with none")
        yield Stage(
            story=story,
            state=state,
            cluster=cluster,
            database=history(state),
            shell=shell_environment(state, cluster),
        )
    except BaseException:
        end(story, state)
        raise
    if not keep:
        end(story, state)


def end(story: Story, state: StateDir) -> None:
    """Take the cluster down, visibly where there is still something to see it on (a pipe or terminal may be gone)."""
    shutting_down = story.console.status("shutting everything down …")
    with held_back():
        try:
            with suppress(OSError, SystemExit):  # rich ends the command when its pipe is closed
                shutting_down.start()
        finally:
            lifecycle.down(state)
        with suppress(OSError, SystemExit):
            shutting_down.stop()


def bill(stage: Stage, number: int) -> None:
    """What it cost; fails when the ledger lost a job or the sum is not the sum of its lines."""
    stage.story.chapter(number, "The bill")
    found = cost_json(history(stage.state), utc_now())
    show_bill(stage.story.console, found)
    jobs = {line["job"] for line in found["lines"]}
    missing = {"ops-finetune", "ops-nightly", "ops-small", "ops-assistant"} - jobs
    if missing:
        raise OperationError(f"the bill lacks {', '.join(sorted(missing))}.")


def keep_running(stage: Stage) -> None:
    """Print what a user needs to go on."""
    where = os.path.relpath(stage.state.root)
    stage.story.say(f"kept running: services {stage.cluster.serve_url}, dashboard {stage.cluster.dashboard_url}")
    stage.story.say(
        f'next: eval "$(orchestrator env --state-dir {where})"; end it with: orchestrator down --state-dir {where}'
    )
