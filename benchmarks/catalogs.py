"""Mixed catalogs and larger price books, made from a seeded generator: the same seed gives the same text.

Cards have the shapes of published models from 22M to 70B parameters. Jobs are drawn so that nearly each can run
somewhere: sizes of data, windows, deadlines and latency objectives follow the size of the model.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import yaml

from orchestrator.model.offer import Market, Offer, PriceBook

Section = dict[str, Any]

REGION = "us-east-1"
PLENTY_OF_WORKERS = 1_000_000
"""`max_workers` of a catalog without limits."""

LINEUP: dict[str, tuple[float, int, int, int, int, int, int, str]] = {
    "smollm2-135m": (134.5e6, 30, 576, 9, 3, 64, 8192, "bf16"),
    "smollm2-360m": (361.8e6, 32, 960, 15, 5, 64, 8192, "bf16"),
    "qwen2.5-0.5b": (494.0e6, 24, 896, 14, 2, 64, 32768, "bf16"),
    "llama-3.2-1b": (1.236e9, 16, 2048, 32, 8, 64, 131072, "bf16"),
    "llama-3.2-3b": (3.213e9, 28, 3072, 24, 8, 128, 131072, "bf16"),
    "llama-3.1-8b": (8.03e9, 32, 4096, 32, 8, 128, 131072, "bf16"),
    "qwen2.5-14b": (14.77e9, 48, 5120, 40, 8, 128, 32768, "bf16"),
    "qwen2.5-32b": (32.76e9, 64, 5120, 40, 8, 128, 32768, "bf16"),
    "llama-3.1-70b": (70.55e9, 80, 8192, 64, 8, 128, 131072, "bf16"),
    "minilm-l6": (22.7e6, 6, 384, 12, 12, 32, 512, "fp32"),
    "bge-base": (109.5e6, 12, 768, 12, 12, 64, 512, "fp32"),
    "bge-large": (335.1e6, 24, 1024, 16, 16, 64, 512, "fp32"),
}
"""params, layers, hidden, heads, kv_heads, head_dim, context, dtype, from the models' config.json."""

GENERATORS = tuple(name for name, card in LINEUP.items() if card[6] > 512)
ENCODERS = tuple(name for name, card in LINEUP.items() if card[6] <= 512)
WEIGHTS = (2, 2, 3, 5, 6, 8, 3, 2, 2)
"""How often each generator is asked for."""

LARGE_PARAMS, HUGE_PARAMS = 5e9, 25e9
ZONES = ("America/New_York", "America/Los_Angeles", "Europe/Berlin", "UTC")
PRIORITIES = (0, 0, 0, 0, 5, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The cluster's limits; quotas in vCPUs by "FAMILY-market", budget in USD per hour."""

    max_workers: int = PLENTY_OF_WORKERS
    budget_usd_per_hour: float | None = None
    quotas: Mapping[str, int] | None = None


def catalog_text(jobs: int, chance: random.Random, limits: Limits | None = None) -> str:
    """A catalog as YAML; the limits do not change what is drawn."""
    document = {
        "version": 1,
        "cluster": _cluster(limits or Limits()),
        "models": {name: _card(name) for name in LINEUP},
        "jobs": dict(_job(index, chance) for index in range(jobs)),
    }
    return yaml.dump(document, Dumper=yaml.CSafeDumper, sort_keys=False, width=120)


def _cluster(limits: Limits) -> Section:
    found: Section = {
        "provider": "aws",
        "region": REGION,
        "storage": "s3://example-ml/orchestrator",
        "max_workers": limits.max_workers,
    }
    if limits.budget_usd_per_hour is not None:
        found["budget"] = f"${limits.budget_usd_per_hour:.2f}/h"
    if limits.quotas:
        found["quotas"] = dict(sorted(limits.quotas.items()))
    return found


def _card(name: str) -> Section:
    params, layers, hidden, heads, kv_heads, head_dim, context, dtype = LINEUP[name]
    return {
        "source": f"s3://example-ml/models/{name}", "params": params, "layers": layers, "hidden": hidden,
        "heads": heads, "kv_heads": kv_heads, "head_dim": head_dim, "context": context, "dtype": dtype,
    }  # fmt: skip


def _job(index: int, chance: random.Random) -> tuple[str, Section]:
    kind, draw = chance.choices((("train", _train), ("batch", _batch), ("serve", _serve)), (30, 30, 40))[0]
    priority = chance.choice(PRIORITIES)
    return f"{kind}-{index:05d}", {"kind": kind, **({"priority": priority} if priority else {}), **draw(chance)}


def _train(chance: random.Random) -> Section:
    name = chance.choices(GENERATORS, WEIGHTS)[0]
    params = LINEUP[name][0]
    full = chance.random() < (0.1 if params > LARGE_PARAMS else 0.3)
    most = 8 if full and params > LARGE_PARAMS else chance.choice((1, 2, 4))
    found: Section = {
        "model": name,
        "method": "full" if full else "lora",
        "tokens": _log_uniform(chance, 5e6, 5e7 if params > HUGE_PARAMS else 3e8),
        "epochs": chance.choice((1, 2, 3)),
        "sequence_length": chance.choice((1024, 2048, 4096)),
        "gradient_checkpointing": params > 1e9 or chance.random() < 0.5,
        "instances": {"min": 1, "max": most},
        "lifecycle": chance.choices(("auto", "spot", "on-demand"), (6, 3, 1))[0],
        "retrain": chance.choice(("never", "daily", "weekly", "monthly")),
        "checkpoint": {"interval": chance.choice(("5m", "10m", "20m"))},
    }
    if chance.random() < 0.4:
        found["deadline"] = f"{chance.choice((24, 48, 96))}h"
    elif chance.random() < 0.3:
        found["class"] = "best-effort"
    return found


def _batch(chance: random.Random) -> Section:
    name = chance.choices(GENERATORS, WEIGHTS)[0]
    params = LINEUP[name][0]
    most_rows = 5e4 if params > HUGE_PARAMS else 3e5 if params > LARGE_PARAMS else 3e6
    found: Section = {
        "model": name,
        "rows": _log_uniform(chance, 1e4, most_rows),
        "prompt_tokens": chance.randrange(100, 1200, 20),
        "output_tokens": chance.randrange(8, 256, 4),
        "instances": {"max": 32},
        "lifecycle": chance.choices(("spot", "auto", "on-demand"), (7, 2, 1))[0],
        "engine": {"max_model_len": 4096},
    }
    if chance.random() < 0.8:
        start, hours = chance.randrange(0, 5), chance.choice((3, 4, 6))
        found["schedule"] = {
            "cron": f"0 {start} * * *",
            "timezone": chance.choice(ZONES),
            "done_by": f"{start + hours:02d}:00",
        }
    if params > HUGE_PARAMS or chance.random() < 0.2:
        found["quantization"] = {"weights": chance.choice(("int8", "int4"))}
    if chance.random() < 0.2:
        found["class"] = "best-effort"
    return found


def _serve(chance: random.Random) -> Section:
    task = chance.choices(("generate", "embed", "classify"), (6, 2, 2))[0]
    pattern = chance.choice(("constant", "predictable", "spiky", "unpredictable"))
    drawn = _generating(chance) if task == "generate" else _encoding(chance)
    drawn["traffic"]["pattern"] = pattern
    return {
        "task": task,
        "replicas": {"min": 1, "max": 128, "warm": chance.choice((0, 0, 1))},
        "lifecycle": chance.choices(("auto", "on-demand", "spot"), (7, 2, 1))[0],
        **drawn,
    }


def _generating(chance: random.Random) -> Section:
    name = chance.choices(GENERATORS, WEIGHTS)[0]
    params = LINEUP[name][0]
    several = params > LARGE_PARAMS and chance.random() < 0.2
    found: Section = {
        "models": {"small": "llama-3.2-3b", "large": name} if several else {"only": name},
        "traffic": {
            "requests_per_second": _log_uniform(chance, 0.2, 3 if params > HUGE_PARAMS else 20),
            "prompt_tokens": chance.randrange(100, 2000, 50),
            "output_tokens": chance.randrange(32, 512, 16),
        },
        "engine": {"max_model_len": 4096},
    }
    if several:
        found["route"] = [{"if": "prompt_words < 50", "to": "small"}, {"to": "large"}]
    if chance.random() < 0.75:
        slow = 4 if params > HUGE_PARAMS else 2 if params > LARGE_PARAMS else 1
        found["slo"] = {
            "ttft_p99": f"{chance.choice((800, 1500, 3000)) * slow}ms",
            "itl_p99": f"{chance.choice((50, 80, 150)) * slow}ms",
        }
    if params > HUGE_PARAMS or chance.random() < 0.3:
        found["quantization"] = {"weights": chance.choice(("int8", "int4"))}
    return found


def _encoding(chance: random.Random) -> Section:
    found: Section = {
        "models": {"only": chance.choice(ENCODERS)},
        "traffic": {
            "requests_per_second": _log_uniform(chance, 5, 1000),
            "prompt_tokens": chance.randrange(32, 400, 16),
        },
    }
    if chance.random() < 0.75:
        found["slo"] = {"latency_p99": f"{chance.choice((200, 300, 500, 1000))}ms"}
    return found


def _log_uniform(chance: random.Random, least: float, most: float) -> float | int:
    """Three significant digits, every order of magnitude equally likely."""
    drawn = float(f"{least * (most / least) ** chance.random():.3g}")
    return int(drawn) if drawn == int(drawn) else drawn


SYNTHETIC_ZONE = "use1-az{}"
FIRST_SYNTHETIC, PRICE_NOISE = 11, 0.2
CENT_OF_CENT = Decimal("0.0001")


def offers_of(book: PriceBook, region: str = REGION) -> tuple[Offer, ...]:
    """Offers of one region without its local zones."""
    return tuple(offer for offer in book.offers if offer.region == region and not offer.local_zone)


def enlarged(book: PriceBook, chance: random.Random, least_offers: int, region: str = REGION) -> PriceBook:
    """The book with synthetic zones until the region has at least so many offers: each zone has every type that has a
    spot price, at that of its first zone times 1 ± PRICE_NOISE, and below on-demand."""
    first: dict[str, Offer] = {}
    for offer in offers_of(book, region):
        if offer.market is Market.SPOT:
            first.setdefault(offer.instance.name, offer)
    added: list[Offer] = []
    missing = least_offers - len(offers_of(book, region))
    zone = FIRST_SYNTHETIC
    while first and len(added) < missing:
        added.extend(_elsewhere(offer, SYNTHETIC_ZONE.format(zone), chance) for offer in first.values())
        zone += 1
    return replace(book, offers=tuple(sorted((*book.offers, *added), key=lambda offer: offer.name)))


def _elsewhere(offer: Offer, zone: str, chance: random.Random) -> Offer:
    noise = Decimal(repr(round(chance.uniform(1 - PRICE_NOISE, 1 + PRICE_NOISE), 4)))
    price = (offer.price_usd_per_hour * noise).quantize(CENT_OF_CENT, ROUND_HALF_UP)
    return replace(
        offer,
        name=f"{offer.instance.name}:{offer.market.value}:{offer.region}:{zone}",
        zone=zone,
        price_usd_per_hour=min(price, offer.on_demand_usd_per_hour * Decimal("0.95")),
        source="synthetic zone",
    )
