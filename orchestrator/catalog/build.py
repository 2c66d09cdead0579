"""From the checked schema to the model: defaults that depend on other values, absolute locations."""

from collections.abc import Mapping
from pathlib import Path

from orchestrator.catalog import location, shares, tokens
from orchestrator.catalog.schema import batch, common, serve, train
from orchestrator.catalog.schema.cluster import Cluster
from orchestrator.catalog.window import shortest_window_s
from orchestrator.model.card import ModelCard
from orchestrator.model.catalog import ClusterSpec
from orchestrator.model.job import (
    BatchJob,
    CheckpointRule,
    Engine,
    JobClass,
    Method,
    Overflow,
    Pattern,
    Replicas,
    Route,
    Schedule,
    ServeJob,
    Slo,
    Traffic,
    TrainJob,
)

DEFAULT_SEQUENCE_TOKENS = 2048
PEAK_FACTORS = {Pattern.CONSTANT: 1.0, Pattern.PREDICTABLE: 2.0, Pattern.SPIKY: 3.0, Pattern.UNPREDICTABLE: 4.0}
"""Peak over mean where the catalog gives no peak; orders of magnitude, from public minute-level LLM traces."""

LEARNING_RATES = {Method.LORA: 2e-4, Method.FULL: 3e-5}
"""Usual rates for small models: adapters take about ten times the rate of all weights."""


def cluster_spec(written: Cluster, base_dir: Path) -> ClusterSpec:
    """The cluster of the model; quotas sorted by key."""
    return ClusterSpec(
        provider=written.provider,
        region=written.region,
        storage=location.absolute(written.storage, base_dir),
        budget_usd_per_hour=written.budget,
        max_workers=written.max_workers,
        quotas=tuple(sorted(written.quotas.items())),
        engineer_usd_per_hour=written.engineer.cost if written.engineer else None,
        engineer_share=written.engineer.share if written.engineer else 0.0,
    )


def train_job(name: str, job: train.Train, card: ModelCard, cluster: ClusterSpec, base_dir: Path) -> TrainJob:
    """A train job with its defaults filled in."""
    least = job.instances.min or 1
    default_class = JobClass.DEADLINE if job.deadline is not None else JobClass.BATCH
    return TrainJob(
        name=name,
        job_class=job.job_class or default_class,
        priority=job.priority,
        accelerators=job.accelerators,
        lifecycle=job.lifecycle,
        max_price_usd_per_hour=job.max_price,
        model=card,
        method=job.method,
        data=_place(job.data, base_dir, cluster, "data", name, "*.parquet"),
        tokens=job.tokens,
        epochs=job.epochs,
        precision=job.precision,
        batch_size=job.batch_size,
        gradient_accumulation=job.gradient_accumulation,
        gradient_checkpointing=job.gradient_checkpointing,
        sequence_tokens=job.sequence_length or min(DEFAULT_SEQUENCE_TOKENS, card.context_tokens),
        min_instances=least,
        max_instances=job.instances.max or least,
        max_duration_s=job.max_duration,
        deadline_s=job.deadline,
        retrain=job.retrain,
        checkpoint=CheckpointRule(
            interval_s=job.checkpoint.interval,
            keep=job.checkpoint.keep,
            storage=_place(job.checkpoint.storage, base_dir, cluster, "checkpoints"),
            recovery=job.checkpoint.recovery,
        ),
        learning_rate=job.learning_rate or LEARNING_RATES[job.method],
        lora_rank=job.lora_rank,
        seed=job.seed,
        prompt_column=job.prompt_column,
        completion_column=job.completion_column,
        heldout=location.absolute(job.heldout, base_dir) if job.heldout else None,
        data_location=job.data_location,
        data_gb=job.data_size,
    )


def batch_job(name: str, job: batch.Batch, card: ModelCard, cluster: ClusterSpec, base_dir: Path) -> BatchJob:
    """A batch job with its defaults filled in."""
    schedule = job.schedule
    window_s = (
        shortest_window_s(schedule.cron, schedule.timezone, schedule.done_by) if schedule and schedule.done_by else None
    )
    prompt_tokens, output_tokens = tokens.batch_tokens(job, card.context_tokens)
    return BatchJob(
        name=name,
        job_class=job.job_class or JobClass.BATCH,
        priority=job.priority,
        accelerators=job.accelerators,
        lifecycle=job.lifecycle,
        max_price_usd_per_hour=job.max_price,
        model=card,
        schedule=Schedule(**schedule.model_dump()) if schedule else None,
        window_s=window_s,
        input=_place(job.input, base_dir, cluster, "input", name, f"date={location.DATE}", "*.parquet"),
        output=_place(job.output, base_dir, cluster, "output", name, f"date={location.DATE}"),
        id_column=job.id_column,
        prompt=job.prompt,
        rows=job.rows,
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
        max_instances=job.instances.max or max(cluster.max_workers, job.instances.min or 1),
        max_duration_s=job.max_duration,
        quantization=job.quantization.weights if job.quantization else None,
        max_accuracy_drop=job.quantization.max_accuracy_drop if job.quantization else None,
        engine=_engine(job.engine),
        data_location=job.data_location,
        data_gb=job.data_size,
    )


def serve_job(name: str, job: serve.Serve, cards: Mapping[str, ModelCard], cluster: ClusterSpec) -> ServeJob:
    """A service with its defaults filled in; parts sorted by name."""
    routes = _routes(job, cards)
    quantized = job.quantization
    return ServeJob(
        name=name,
        job_class=job.job_class or JobClass.SERVE,
        priority=job.priority,
        accelerators=job.accelerators,
        lifecycle=job.lifecycle,
        max_price_usd_per_hour=job.max_price,
        models=tuple(sorted(cards.items())),
        traffic_share=shares.traffic_share(tuple(sorted(cards)), routes, job.traffic.share),
        routes=routes,
        task=job.task,
        traffic=_traffic(job, cards),
        slo=Slo(ttft_p99_s=job.slo.ttft_p99, itl_p99_s=job.slo.itl_p99, latency_p99_s=job.slo.latency_p99),
        replicas=_replicas(job.replicas, cluster),
        quantization=quantized.weights if quantized else None,
        max_accuracy_drop=quantized.max_accuracy_drop if quantized else None,
        speculative_method=job.speculative.method if job.speculative else None,
        engine=_engine(job.engine),
        overflow=_overflow(job.overflow) if job.overflow else None,
        sharing=job.sharing,
    )


def _place(written: str | None, base_dir: Path, cluster: ClusterSpec, *default: str) -> str:
    return location.absolute(written, base_dir) if written else location.within(cluster.storage, *default)


def _engine(written: common.Engine) -> Engine:
    return Engine(**written.model_dump())


def _routes(job: serve.Serve, cards: Mapping[str, ModelCard]) -> tuple[Route, ...]:
    if job.route is not None:
        return tuple(Route(when=rule.when, to=rule.to, max_tokens=rule.max_tokens) for rule in job.route)
    largest = max(sorted(cards), key=lambda part: cards[part].params)
    return (Route(when=None, to=largest, max_tokens=None),)


def _traffic(job: serve.Serve, cards: Mapping[str, ModelCard]) -> Traffic:
    traffic = job.traffic
    mean = traffic.requests_per_second
    prompt_tokens, output_tokens = tokens.serve_tokens(job, max(card.context_tokens for card in cards.values()))
    return Traffic(
        requests_per_second=mean,
        peak_requests_per_second=traffic.peak or mean * PEAK_FACTORS[traffic.pattern],
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
        pattern=traffic.pattern,
    )


def _replicas(written: serve.Replicas, cluster: ClusterSpec) -> Replicas:
    most = written.max if written.max is not None else max(cluster.max_workers, written.min, written.warm, 1)
    return Replicas(min=written.min, max=most, warm=written.warm)


def _overflow(written: serve.Overflow) -> Overflow:
    return Overflow(to=written.to, key_env=written.key_env, max_spend_usd_per_day=written.max_spend)
