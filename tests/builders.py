"""Builders of jobs, offers and catalogs; every builder takes only what a test is about."""

import dataclasses
from decimal import Decimal
from typing import Any

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


class Make:
    """Builders with defaults: a small LoRA job, a nightly batch, a service; offers of real instance types."""

    now = NOW

    def card(self, billions: float = 8.03, **changes: Any) -> ModelCard:
        given = {
            "name": f"m{billions}", "source": "/models/m", "params": billions * 1e9, "layers": 32, "hidden_size": 4096,
            "heads": 32, "kv_heads": 8, "head_dim": 128, "context_tokens": 8192, "dtype": Dtype.BF16,
        }  # fmt: skip
        return ModelCard(**(given | changes))

    def smollm2(self, **changes: Any) -> ModelCard:
        return self.card(
            0.1345, layers=30, hidden_size=576, heads=9, kv_heads=3, head_dim=64, dtype=Dtype.FP32, **changes
        )

    def classifier(self) -> ModelCard:
        return self.card(0.045, layers=6, hidden_size=512, heads=8, head_dim=64, context_tokens=512, dtype=Dtype.FP32)

    def train(self, name: str = "tune", **changes: Any) -> TrainJob:
        given = {
            "name": name, "job_class": JobClass.BATCH, "model": self.card(), "method": Method.LORA, "data": "/d",
            "tokens": 4e7, "epochs": 2.0, "precision": Dtype.BF16, "batch_size": 32, "gradient_accumulation": 4,
            "gradient_checkpointing": True, "sequence_tokens": 2048, "min_instances": 1, "max_instances": 1,
            "max_duration_s": None, "deadline_s": None, "retrain": "never",
            "checkpoint": CheckpointRule(interval_s=600.0, keep=3, storage="/c"), "learning_rate": 2e-4,
            "lora_rank": 16, "seed": 0, "prompt_column": "prompt", "completion_column": "completion",
        }  # fmt: skip
        return TrainJob(**(given | changes))

    def batch(self, name: str = "nightly", **changes: Any) -> BatchJob:
        given = {
            "name": name, "job_class": JobClass.BATCH, "lifecycle": Lifecycle.SPOT,
            "model": self.card(1.24, layers=16, hidden_size=2048, head_dim=64, context_tokens=4096),
            "schedule": None, "window_s": None, "input": "/i", "output": "/o", "id_column": "id", "prompt": "{{ t }}",
            "rows": 5e6, "prompt_tokens": 220.0, "output_tokens": 8.0, "max_instances": 64, "max_duration_s": None,
            "quantization": None, "engine": Engine(),
        }  # fmt: skip
        return BatchJob(**(given | changes))

    def serve(self, name: str = "chat", **changes: Any) -> ServeJob:
        given = {
            "name": name, "job_class": JobClass.SERVE, "models": (("only", self.card()),),
            "traffic_share": (("only", 1.0),), "routes": (), "task": Task.GENERATE,
            "traffic": Traffic(
                requests_per_second=2.0, peak_requests_per_second=4.0, prompt_tokens=350.0, output_tokens=180.0,
                pattern=Pattern.PREDICTABLE,
            ),
            "slo": Slo(), "replicas": Replicas(min=1, max=64, warm=0), "quantization": None,
            "max_accuracy_drop": None, "speculative_method": None, "engine": Engine(), "overflow": None,
        }  # fmt: skip
        return ServeJob(**(given | changes))

    def traffic(self, per_second: float, peak: float | None = None, **changes: Any) -> Traffic:
        given = {
            "requests_per_second": per_second, "peak_requests_per_second": peak or per_second,
            "prompt_tokens": 350.0, "output_tokens": 180.0, "pattern": Pattern.CONSTANT,
        }  # fmt: skip
        return Traffic(**(given | changes))

    def offer(
        self, instance_type: str, price: str, *, zone: str = "use1-az1", region: str = "us-east-1", **changes: Any
    ) -> Offer:
        """A spot offer, or an on-demand one with `market=Market.ON_DEMAND`."""
        market = changes.pop("market", Market.SPOT)
        zone = "*" if market is Market.ON_DEMAND else zone
        given = {
            "name": f"{instance_type}:{market.value}:{region}:{zone}", "instance": instance_types()[instance_type],
            "market": market, "region": region, "zone": zone, "price_usd_per_hour": Decimal(price),
            "on_demand_usd_per_hour": Decimal(price) if market is Market.ON_DEMAND else Decimal(price) * 3,
            "interruptions_per_hour": 0.05 if market is Market.SPOT else 0.0, "local_zone": False, "source": "test",
            "as_of": "2026-11-01",
        }  # fmt: skip
        return Offer(**(given | changes))

    def on_demand(self, instance_type: str, price: str, **changes: Any) -> Offer:
        return self.offer(instance_type, price, market=Market.ON_DEMAND, **changes)

    def book(self, *offers: Offer, refused: tuple = ()) -> PriceBook:
        return PriceBook(as_of="2026-11-01", offers=tuple(sorted(offers, key=lambda o: o.name)), refused=refused)

    def catalog(self, *jobs: Any, **cluster: Any) -> Catalog:
        given = {
            "provider": Provider.AWS, "region": "us-east-1", "storage": "/s", "budget_usd_per_hour": None,
            "max_workers": 64, "quotas": (),
        }  # fmt: skip
        return Catalog(
            version=1, cluster=ClusterSpec(**(given | cluster)), jobs=tuple(sorted(jobs, key=lambda j: j.name))
        )

    def replace(self, thing: Any, **changes: Any) -> Any:
        return dataclasses.replace(thing, **changes)
