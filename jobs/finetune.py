"""Fine-tunes a causal language model on prompts and completions, and survives the loss of its nodes.

    ray job submit --working-dir . -- python -m jobs.finetune --job NAME

The controller says where to run; submitted again after any failure, it continues from the last checkpoint. The result
is a Hugging Face folder that batch and serve jobs name as `run:NAME`.
"""

import argparse
import contextlib
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils.logging import disable_progress_bar

from orchestrator.model.assignment import Assignment
from orchestrator.model.error import InputError, OrchestratorError
from orchestrator.model.job import Method, TrainJob
from orchestrator.runtime import model_source, storage
from orchestrator.runtime.accuracy import accuracy
from orchestrator.runtime.controller import ASSIGNMENT, Controller
from orchestrator.runtime.device import Compute, choose
from orchestrator.runtime.examples import IGNORED, Example, encode, read_pairs, training_batch
from orchestrator.runtime.fit import fit
from orchestrator.runtime.order import SampleOrder
from orchestrator.runtime.snapshot import TrainableWeights
from orchestrator.runtime.train import Session

WARMUP = 0.1
"""Share of all steps in which the learning rate rises; then it falls linearly to zero."""

MAX_GRADIENT_NORM = 1.0
WEIGHT_DECAY = {Method.LORA: 0.0, Method.FULL: 0.01}
MAX_HELDOUT = 500
"""Held-out examples that are measured at most; then the 95% interval of an accuracy is at most ±4.4 points."""


def main() -> int:
    """Parses the command line and runs the job; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m jobs.finetune", description=__doc__.splitlines()[0])
    parser.add_argument("--job", required=True, help="name of a train job in the catalog")
    parser.add_argument("--catalog", type=Path, help="catalog file; default: the one applied to the cluster")
    args = parser.parse_args()
    try:
        finetune(args.job, args.catalog)
    except OrchestratorError as error:
        print(f"finetune: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def finetune(name: str, catalog: Path | None) -> None:
    """Gets a placement for the job, trains, publishes the result, and tells the controller how it went."""
    text = catalog.read_text(encoding="utf-8") if catalog else None
    with Controller.from_env() as controller:
        folder = str(catalog.resolve().parent) if catalog else None
        assignment = controller.begin_run(name, catalog_text=text, base_dir=folder, kind="train")
        run_id = assignment.run_id
        try:
            check_inputs(assignment)
            config = {"assignment": ASSIGNMENT.dump_python(assignment, mode="json")}
            metrics = fit(assignment, train_worker, config, controller)
            published = model_source.Published(run_id=run_id, path=assignment.output_model, metrics=metrics)
            model_source.write_current(assignment.storage, name, published)
        except OrchestratorError as error:
            controller.report(run_id, "failed", str(error))
            raise
        controller.report(run_id, "finished", summary(metrics), **metrics, output=assignment.output_model)
        print(f"finetune {name}: {summary(metrics)}; model in {assignment.output_model}")


def check_inputs(assignment: Assignment) -> None:
    """InputError when model or data are missing or unusable, before any node is asked for."""
    job = train_job(assignment)
    model_source.location(job.model, assignment.storage)
    heldout = heldout_location(job)
    read_pairs(job.data, job.prompt_column, job.completion_column, skip=heldout)
    if heldout:
        read_pairs(heldout, job.prompt_column, job.completion_column)


def train_job(assignment: Assignment) -> TrainJob:
    """The assignment's job, which must be of kind train."""
    if not isinstance(assignment.job, TrainJob):
        kind = assignment.job.kind.value
        raise InputError(f"job {assignment.job.name} is of kind {kind}.", "jobs.finetune runs jobs of kind train.")
    return assignment.job


def heldout_location(job: TrainJob) -> str | None:
    """Data to measure accuracy on: what the job names, else `heldout.parquet` beside its data, else None."""
    if job.heldout:
        return job.heldout
    beside = storage.join(job.data.rpartition("/")[0], "heldout.parquet")
    return beside if storage.exists(beside) else None


def train_worker(config: Mapping[str, Any]) -> dict[str, Any]:
    """What every worker runs, from the start or the last checkpoint; rank 0 exports the result. Returns the metrics."""
    disable_progress_bar()
    assignment = ASSIGNMENT.validate_python(config["assignment"])
    job = train_job(assignment)
    torch.manual_seed(job.seed)
    compute = choose(job.precision, emulated=assignment.emulated, num_workers=assignment.num_workers)
    source = model_source.resolve(job.model, assignment.storage)
    tokenizer = AutoTokenizer.from_pretrained(source)
    examples, heldout, cut = load_examples(job, tokenizer)
    model = load_model(source, job, compute)

    order = SampleOrder(len(examples), job.seed)
    at_once = assignment.micro_batch or job.batch_size
    per_step = job.batch_size * job.gradient_accumulation * assignment.num_workers
    total_steps = max(1, math.ceil(len(examples) * job.epochs / per_step))
    changing = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(changing, lr=job.learning_rate, weight_decay=WEIGHT_DECAY[job.method])
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: learning_rate_share(step, total_steps))
    scaler = torch.amp.GradScaler(compute.device.type, enabled=compute.dtype is torch.float16)
    session = Session(
        interval_s=job.checkpoint.interval_s, total_steps=total_steps, model=TrainableWeights(model),
        optimizer=optimizer, scheduler=scheduler, scaler=scaler, order=order,
    )  # fmt: skip
    session.restore(note=compute.note, prompts_cut=cut)

    def measure() -> float:
        return accuracy(model, heldout, tokenizer.pad_token_id, compute.device)

    speaks = session.link.rank == 0
    if heldout and speaks and "accuracy_before" not in session.facts:
        session.facts["accuracy_before"] = measure()
    parallel = DistributedDataParallel(model) if session.link.world_size > 1 else model
    model.train()
    while session.step < total_steps:
        indices = order.take(per_step)[session.link.rank :: session.link.world_size]
        chosen = [examples[index] for index in indices]
        loss = train_step(parallel, chosen, at_once, tokenizer.pad_token_id, compute, scaler)
        change_weights(optimizer, scheduler, scaler)
        tokens = sum(len(each.prompt_ids) + len(each.completion_ids) for each in chosen) * session.link.world_size
        session.after_step(tokens=tokens, loss=loss)
    facts = {"accuracy_after": measure()} if heldout and speaks else {}
    if speaks:
        export(model, tokenizer, source, assignment.output_model)
    return session.done(**facts)


def load_examples(job: TrainJob, tokenizer: PreTrainedTokenizerBase) -> tuple[list[Example], list[Example], int]:
    """Training and held-out examples, and how many training prompts were cut to the sequence length."""
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    heldout = heldout_location(job)
    pairs = read_pairs(job.data, job.prompt_column, job.completion_column, skip=heldout)
    found, cut = encode(pairs, tokenizer, job.sequence_tokens)
    kept = read_pairs(heldout, job.prompt_column, job.completion_column)[:MAX_HELDOUT] if heldout else []
    return found, encode(kept, tokenizer, job.sequence_tokens)[0], cut


def load_model(source: str, job: TrainJob, compute: Compute) -> PreTrainedModel | PeftModel:
    """The model on its device, with an adapter for LoRA. Weights that change are in fp32, frozen ones need not be."""
    lora = job.method is Method.LORA
    model = AutoModelForCausalLM.from_pretrained(source, dtype=compute.dtype if lora else torch.float32)
    if job.gradient_checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        model.enable_input_require_grads()
    if lora:
        adapter = LoraConfig(
            r=job.lora_rank, lora_alpha=2 * job.lora_rank, target_modules="all-linear", task_type="CAUSAL_LM"
        )
        model = get_peft_model(model, adapter)
    return model.to(compute.device)


def train_step(
    model: torch.nn.Module,
    examples: list[Example],
    at_once: int,
    pad_id: int,
    compute: Compute,
    scaler: torch.amp.GradScaler,
) -> float:
    """Adds up gradients of this worker's share, `at_once` examples at a time, and returns the mean loss.

    Only completion tokens count for the loss; with several workers gradients are averaged with the last backward pass.
    """
    pieces = [examples[start : start + at_once] for start in range(0, len(examples), at_once)]
    total = 0.0
    for number, piece in enumerate(pieces, start=1):
        batch = {name: values.to(compute.device) for name, values in training_batch(piece, pad_id).items()}
        labels = batch.pop("labels")
        share = len(piece) / len(examples)
        waits = number < len(pieces) and isinstance(model, DistributedDataParallel)
        with model.no_sync() if waits else contextlib.nullcontext():
            with torch.autocast(compute.device.type, dtype=compute.dtype, enabled=compute.mixed):
                logits = model(**batch, use_cache=False, logits_to_keep=labels.shape[1] + 1).logits[:, :-1]
            loss = cross_entropy(logits.float().flatten(0, 1), labels.flatten(), ignore_index=IGNORED)
            scaler.scale(loss * share).backward()
        total += loss.item() * share
    return total


def change_weights(
    optimizer: torch.optim.Optimizer, scheduler: torch.optim.lr_scheduler.LRScheduler, scaler: torch.amp.GradScaler
) -> None:
    """One optimizer step with the gradients that were added up, which are clipped and then cleared."""
    scaler.unscale_(optimizer)
    changing = [weight for group in optimizer.param_groups for weight in group["params"]]
    torch.nn.utils.clip_grad_norm_(changing, MAX_GRADIENT_NORM)
    scaler.step(optimizer)
    scaler.update()
    scheduler.step()
    optimizer.zero_grad(set_to_none=True)


def learning_rate_share(step: int, total_steps: int) -> float:
    """Share of the peak learning rate in step 0, 1, …: a linear rise over `WARMUP` of the steps, then a linear fall."""
    rise = max(1, round(WARMUP * total_steps))
    return min((step + 1) / rise, (total_steps - step) / max(1, total_steps - rise + 1))


def export(model: PreTrainedModel | PeftModel, tokenizer: PreTrainedTokenizerBase, source: str, output: str) -> None:
    """Writes a complete Hugging Face folder in the base model's number format, the adapter merged into the weights."""
    merged = model.merge_and_unload() if isinstance(model, PeftModel) else model
    merged = merged.to(dtype=AutoConfig.from_pretrained(source).dtype or torch.float32)
    with storage.new_folder(output) as folder:
        merged.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def summary(metrics: Mapping[str, Any]) -> str:
    """What came out, in a few words."""
    words = f"{metrics['step']} steps"
    if "loss" in metrics:
        words += f", loss {metrics['loss']:.3f}"
    if "accuracy_after" in metrics:
        words += f", held-out accuracy {metrics['accuracy_before']:.0%} -> {metrics['accuracy_after']:.0%}"
    return words


if __name__ == "__main__":
    sys.exit(main())
