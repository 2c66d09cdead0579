"""Builders of jobs, offers and catalogs; every builder takes only what a test is about."""

import dataclasses
from decimal import Decimal
from typing import Any

import pytest

from orchestrator.advice.situation import Situation, situation
from orchestrator.model.card import Dtype, ModelCard
from orchestrator.model.catalog import Catalog, ClusterSpec, Provider
from orchestrator.model.job import (
    BatchJob,
    CheckpointRule,
    Engine,
    JobClass,
    Lifecycle,
    Method,
    Pattern,
    Replicas,
    ServeJob,
    Slo,
    Task,
    Traffic,
    TrainJob,
)
from orchestrator.model.offer import Market, Offer, PriceBook
from orchestrator.offers.hardware import instance_types

NOW = "2026-11-30T00:00:00Z"
SIZES = {
    0.5: {"layers": 16, "hidden_size": 1024, "heads": 16},
    8.0: {"layers": 32, "hidden_size": 4096, "heads": 32},
    14.0: {"layers": 48, "hidden_size": 5120, "heads": 40},
    70.0: {"layers": 80, "hidden_size": 8192, "heads": 64},
}


class Make:
    """Builders with defaults: a LoRA job of 8B, a service of 8B, a nightly batch; offers of real instance types."""

    now = NOW

    def card(self, billions: float = 8.0) -> ModelCard:
        return ModelCard(
            name=f"m{billions:g}b", source="/models/m", params=billions * 1e9, kv_heads=8, head_dim=128,
            context_tokens=8192, dtype=Dtype.BF16, **SIZES[billions],
        )  # fmt: skip

    def train(self, name: str = "tune", **changes: Any) -> TrainJob:
        given = {
            "name": name, "job_class": JobClass.BATCH, "model": self.card(), "method": Method.LORA, "data": "/d",
            "tokens": 4e7, "epochs": 2.0, "precision": Dtype.BF16, "batch_size": 32, "gradient_accumulation": 4,
            "gradient_checkpointing": True, "sequence_tokens": 2048, "min_instances": 1, "max_instances": 1,
            "max_duration_s": None, "deadline_s": None, "retrain": "weekly",
            "checkpoint": CheckpointRule(interval_s=600.0, keep=3, storage="/c"), "learning_rate": 2e-4,
            "lora_rank": 16, "seed": 0, "prompt_column": "prompt", "completion_column": "completion",
        }  # fmt: skip
        return TrainJob(**(given | changes))

    def batch(self, name: str = "nightly", **changes: Any) -> BatchJob:
        given = {
            "name": name, "job_class": JobClass.BATCH, "lifecycle": Lifecycle.SPOT, "model": self.card(0.5),
            "schedule": None, "window_s": None, "input": "/i", "output": "/o", "id_column": "id", "prompt": "{{ t }}",
            "rows": 1e6, "prompt_tokens": 220.0, "output_tokens": 8.0, "max_instances": 1, "max_duration_s": None,
            "quantization": None, "engine": Engine(),
        }  # fmt: skip
        return BatchJob(**(given | changes))

    def serve(self, name: str = "chat", **changes: Any) -> ServeJob:
        card = changes.pop("card", self.card())
        given = {
            "name": name, "job_class": JobClass.SERVE, "models": (("only", card),), "traffic_share": (("only", 1.0),),
            "routes": (), "task": Task.GENERATE, "traffic": self.traffic(1.0), "slo": Slo(),
            "replicas": Replicas(min=1, max=64, warm=0), "quantization": None, "max_accuracy_drop": None,
            "speculative_method": None, "engine": Engine(), "overflow": None,
        }  # fmt: skip
        return ServeJob(**(given | changes))

    def traffic(self, per_second: float, peak: float | None = None, pattern: Pattern = Pattern.CONSTANT) -> Traffic:
        return Traffic(
            requests_per_second=per_second, peak_requests_per_second=peak or per_second, prompt_tokens=350.0,
            output_tokens=150.0, pattern=pattern,
        )  # fmt: skip

    def offer(self, instance_type: str, price: str, *, zone: str = "use1-az1", **changes: Any) -> Offer:
        """A spot offer, or an on-demand one with `market=Market.ON_DEMAND`."""
        market = changes.pop("market", Market.SPOT)
        region = changes.pop("region", "us-east-1")
        zone = "*" if market is Market.ON_DEMAND else zone
        given = {
            "name": f"{instance_type}:{market.value}:{region}:{zone}", "instance": instance_types()[instance_type],
            "market": market, "region": region, "zone": zone, "price_usd_per_hour": Decimal(price),
            "on_demand_usd_per_hour": Decimal(price) if market is Market.ON_DEMAND else Decimal(price) * 3,
            "interruptions_per_hour": 0.05 if market is Market.SPOT else 0.0, "local_zone": False, "source": "test",
            "as_of": "2026-11-01",
        }  # fmt: skip
        return Offer(**(given | changes))

    def on_demand(self, instance_type: str, price: str) -> Offer:
        return self.offer(instance_type, price, market=Market.ON_DEMAND)

    def catalog(self, *jobs: Any, **cluster: Any) -> Catalog:
        given = {
            "provider": Provider.AWS, "region": "us-east-1", "storage": "/s", "budget_usd_per_hour": None,
            "max_workers": 64, "quotas": (),
        }  # fmt: skip
        return Catalog(
            version=1, cluster=ClusterSpec(**(given | cluster)), jobs=tuple(sorted(jobs, key=lambda j: j.name))
        )

    def book(self, *offers: Offer) -> PriceBook:
        return PriceBook(as_of="2026-11-01", offers=tuple(sorted(offers, key=lambda o: o.name)), refused=())

    def situation(self, jobs: Any, offers: Any, **cluster: Any) -> Situation:
        return situation(self.catalog(*jobs, **cluster), self.book(*offers), NOW)

    def replace(self, thing: Any, **changes: Any) -> Any:
        return dataclasses.replace(thing, **changes)


@pytest.fixture(scope="session")
def make() -> Make:
    return Make()


@pytest.fixture(scope="session")
def figure():
    """The value of an advice's figure by name and, where several have it, of what."""

    def of(advice, name: str, what: str = "") -> Any:
        found = [each.value for each in advice.figures if each.name == name and what in each.of]
        assert len(found) == 1, [each.name for each in advice.figures]
        return found[0]

    return of
