"""From services and their placements to one complete Ray Serve configuration: pure, nothing is deployed here."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.model import labels
from orchestrator.model.card import ModelCard
from orchestrator.model.error import InputError
from orchestrator.model.job import Engine, ServeJob, Task
from orchestrator.model.node import ANY_ZONE
from orchestrator.model.plan import Choice
from orchestrator.runtime import engine

IMPORT_PATH = "serve_apps.llm:build"
HEAD_RESOURCE = "node:__internal_head__"
"""Ray gives this resource to every head node."""

TARGET_SHARE = 0.75
"""Requests in flight per replica that scaling aims at, as a share of the engine's sequences; the rest is for bursts."""

LOOK_BACK_S, UPSCALE_DELAY_S, DOWNSCALE_DELAY_S = 20, 10, 300
GRACEFUL_SHUTDOWN_S = 20
"""Time for running requests when a replica goes: well inside the two minutes of a spot notice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedPart:
    """One model of a service, ready to run: `path` is its Hugging Face folder or s3:// URI, `choice` where it goes.

    `cpus` is what the engine itself takes of a node (give CPU-only offers their cores; 1 suits an accelerator).
    `most_replicas` bounds replicas below the catalog's maximum, where the cluster has a budget; None = it does not.
    """

    name: str
    card: ModelCard
    path: str
    choice: Choice
    cpus: int = 1
    most_replicas: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A serve job with all its parts placed and their models resolved."""

    job: ServeJob
    parts: tuple[ServedPart, ...]


def render(
    services: Sequence[Service],
    *,
    emulated: bool,
    http_host: str = "127.0.0.1",
    http_port: int = 8000,
    threads: int = 2,
) -> dict[str, Any]:
    """The body of `PUT /api/serve/applications/`: the full desired state, one application per service, sorted by name.

    `emulated` = accelerators are emulated, so engines compute on CPU with `threads` threads each, and one HTTP proxy on
    the head is all one machine has room for. An only service answers at `/`, several at `/NAME` (see `route_prefix`).
    """
    ordered = sorted(services, key=lambda service: service.job.name)
    return {
        "proxy_location": "HeadOnly" if emulated else "EveryNode",
        "http_options": {"host": http_host, "port": http_port},
        "applications": [
            _application(service, route_prefix(service.job.name, len(ordered)), emulated=emulated, threads=threads)
            for service in ordered
        ],
    }


def route_prefix(name: str, num_services: int) -> str:
    """Where a service answers. An only service at `/` also answers at `/NAME`, so that URL never changes."""
    return "/" if num_services == 1 else f"/{name}"


def deployment_name(part: str) -> str:
    """Name of a part's deployment inside its application, as `ray.serve.llm` forms it."""
    return "LLMServer:" + part.replace("/", "--").replace(".", "_")


def node_selector(choice: Choice) -> dict[str, str]:
    """Labels of the nodes that may run this choice: its hardware, in the pool that only Serve uses, and the markets and
    zones of its pools. An on-demand base may be in any zone, and so may then the rest."""
    selector = {
        labels.INSTANCE_TYPE: choice.instance_type,
        labels.MARKET_TYPE: _any_of(pool.market.value for pool in choice.pools),
        labels.SUBCLUSTER: labels.SERVE_SUBCLUSTER,
    }
    if all(pool.zone != ANY_ZONE for pool in choice.pools):
        selector[labels.ZONE] = _any_of(pool.zone for pool in choice.pools)
    return dict(sorted(selector.items()))


def _any_of(values: Iterable[str]) -> str:
    """A label selector's value for one of several, as Ray writes it: "a", or "in(a,b)"."""
    unique = sorted(set(values))
    return unique[0] if len(unique) == 1 else f"in({','.join(unique)})"


def _application(service: Service, prefix: str, *, emulated: bool, threads: int) -> dict[str, Any]:
    job = service.job
    if job.task is not Task.GENERATE:
        raise InputError(
            f"job {job.name}: task {job.task.value} has no serving application;",
            "use task: generate for a served model",
        )
    return {
        "name": job.name,
        "route_prefix": prefix,
        "import_path": IMPORT_PATH,
        "args": {
            "service": _routing(service),
            "llm_configs": [_llm_config(job, part, emulated=emulated, threads=threads) for part in service.parts],
            "ingress": _ingress_options(),
        },
    }


def _routing(service: Service) -> dict[str, Any]:
    """What the ingress needs to route: parts with contexts, the cards' names as aliases, rules and a tokenizer."""
    return {
        "name": service.job.name,
        "parts": [part.name for part in service.parts],
        "aliases": {part.card.name: part.name for part in service.parts},
        "routes": [
            {"when": list(route.when) if route.when else None, "to": route.to, "max_tokens": route.max_tokens}
            for route in service.job.routes
        ],
        "contexts": {part.name: engine.context_tokens(service.job.engine, part.card) for part in service.parts},
        "tokenizer": service.parts[-1].path,
    }


def _ingress_options() -> dict[str, Any]:
    """One ingress replica on the head, next to the HTTP proxy: no spot node under it, and none of the head's CPUs."""
    return {
        "num_replicas": 1,
        "max_ongoing_requests": 1000,
        "ray_actor_options": {"num_cpus": 0, "resources": {HEAD_RESOURCE: 0.001}},
    }


def _llm_config(job: ServeJob, part: ServedPart, *, emulated: bool, threads: int) -> dict[str, Any]:
    compute = engine.compute_on(part.choice.accelerator, emulated=emulated)
    tensor = part.choice.parallelism.tensor
    return {
        "model_loading_config": {"model_id": part.name, "model_source": part.path},
        "engine_kwargs": engine.engine_kwargs(_within_share(job.engine, part.choice), part.card, compute, tensor),
        "accelerator_config": {"kind": "gpu" if compute is engine.Compute.ACCELERATOR else "cpu"},
        "placement_group_config": {"bundles": _bundles(part), "strategy": "STRICT_PACK"},
        "runtime_env": {"env_vars": engine.engine_env(compute, threads)},
        "deployment_config": _deployment_config(job, part, compute),
    }


def _within_share(settings: Engine, choice: Choice) -> Engine:
    """An engine on a part of an accelerator takes that part of what it might use of a whole one."""
    return replace(settings, gpu_memory_utilization=settings.gpu_memory_utilization * choice.share)


def _bundles(part: ServedPart) -> list[dict[str, float]]:
    """One bundle per accelerator; an emulated accelerator is asked for exactly as a real one."""
    choice = part.choice
    if choice.accelerator is None:
        return [{"CPU": part.cpus}]
    # Ray and vLLM take a part of a GPU as they take a whole one; its memory is bounded below.
    gpus = choice.share if choice.share < 1 else 1
    bundle = {"CPU": part.cpus, "GPU": gpus, f"accelerator_type:{choice.accelerator}": 0.001}
    return [dict(bundle) for _ in range(choice.parallelism.tensor)]


def _deployment_config(job: ServeJob, part: ServedPart, compute: engine.Compute) -> dict[str, Any]:
    seqs = engine.max_num_seqs(job.engine, compute)
    most = job.replicas.max if part.most_replicas is None else min(job.replicas.max, part.most_replicas)
    least = min(most, max(job.replicas.min, job.replicas.warm))
    return {
        "autoscaling_config": {
            "min_replicas": least,
            "max_replicas": most,
            "target_ongoing_requests": max(1, math.floor(seqs * TARGET_SHARE)),
            "look_back_period_s": LOOK_BACK_S,
            "upscale_delay_s": UPSCALE_DELAY_S,
            "downscale_delay_s": DOWNSCALE_DELAY_S,
        },
        "max_ongoing_requests": 2 * seqs,
        "graceful_shutdown_timeout_s": GRACEFUL_SHUTDOWN_S,
        "placement_group_bundle_label_selector": [node_selector(part.choice)],
    }
