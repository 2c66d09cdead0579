"""The training chapters: a fine-tune that is interrupted on notice and resumes, and a small model for the service."""

from orchestrator.cli.demo.stage import Stage, figure
from orchestrator.cli.interrupt import node_of
from orchestrator.cluster import chaos
from orchestrator.model.error import OperationError

JOB, SMALL = "ops-finetune", "ops-small"
NOTICE_S = 20.0
"""AWS gives 120 s; the demo has less time."""

START_DEADLINE_S, RUN_DEADLINE_S = 300.0, 600.0


def fine_tune(stage: Stage, number: int) -> None:
    """LoRA fine-tune of a real 135M model; its spot node is taken away on notice."""
    story = stage.story
    story.chapter(number, "Fine-tuning on spot, with an interruption on notice")
    stage.submit("jobs.finetune", JOB)
    stage.wait_for(JOB, ("checkpoint",), START_DEADLINE_S)
    node = chaos.interrupt(stage.state, node_of(stage.state, JOB), NOTICE_S)
    story.say(f"[yellow]spot interruption:[/yellow] {node.instance_id} ({node.spec.offer}) goes in {NOTICE_S:.0f} s")
    resumed = stage.wait_for(JOB, ("resumed",), START_DEADLINE_S)
    done = stage.wait_for(JOB, ("finished",), RUN_DEADLINE_S)
    before, after = figure(done, "accuracy_before"), figure(done, "accuracy_after")
    story.say(f"[bold]accuracy on held-out texts {before:.0%} → {after:.0%}[/bold]")
    story.say(f"one interruption, one resume, at step {figure(resumed, 'step'):.0f}")
    if after <= before:
        raise OperationError(f"the fine-tune did not help: {before:.0%} before, {after:.0%} after.")


def small_model(stage: Stage, number: int) -> None:
    """Full fine-tune of the six-layer cut, which will answer short requests."""
    stage.story.chapter(number, "A small model for short requests: the first six layers, trained on the same texts")
    stage.submit("jobs.finetune", SMALL)
    done = stage.wait_for(SMALL, ("finished",), START_DEADLINE_S + RUN_DEADLINE_S)
    before, after = figure(done, "accuracy_before"), figure(done, "accuracy_after")
    stage.story.say(f"[bold]accuracy on held-out texts {before:.0%} → {after:.0%}[/bold]")
