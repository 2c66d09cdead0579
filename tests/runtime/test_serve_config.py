"""What `apply` deploys, checked against Ray Serve's own schema and `ray.serve.llm`'s."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from orchestrator.model.card import Dtype, ModelCard
from orchestrator.model.error import InputError
from orchestrator.model.job import Engine, JobClass, Pattern, Replicas, Route, ServeJob, Slo, Task, Traffic
from orchestrator.model.offer import Market
from orchestrator.model.plan import Basis, Choice, Parallelism, Pool
from orchestrator.runtime.serve_config import ServedPart, Service, deployment_name, node_selector, render

CARD = ModelCard(
    name="chat-3b", source="/models/chat-3b", params=3.2e9, layers=28, hidden_size=3072, heads=24, kv_heads=8,
    head_dim=128, context_tokens=8192, dtype=Dtype.BF16,
)  # fmt: skip


def pool(zone: str, market: Market) -> Pool:
    return Pool(offer=f"g6.12xlarge:{market.value}:us-east-1:{zone}", market=market, zone=zone, instances=1.5)


def choice(**changes: Any) -> Choice:
    l4 = Choice(
        offer="g6.12xlarge:spot:us-east-1:use1-az1", instance_type="g6.12xlarge", accelerator="L4",
        accelerators_per_instance=4, instances=1.5, market=Market.SPOT, zone="use1-az1",
        pools=(pool("use1-az1", Market.SPOT),),
        parallelism=Parallelism(tensor=1, data=1), usd_per_hour=Decimal("0.30"), expected_usd=Decimal(219),
        expected_seconds=1.0, costs=(), basis=Basis.ROOFLINE,
    )  # fmt: skip
    return replace(l4, **changes)


CPU_CHOICE = choice(instance_type="c7i.4xlarge", accelerator=None, accelerators_per_instance=0)


def serve_job(**changes: Any) -> ServeJob:
    job = ServeJob(
        name="copilot", job_class=JobClass.SERVE, models=(("small", CARD),), traffic_share=(("small", 1.0),),
        routes=(Route(when=("prompt_words", "<", 50.0), to="small", max_tokens=128),), task=Task.GENERATE,
        traffic=Traffic(
            requests_per_second=1, peak_requests_per_second=2, prompt_tokens=50, output_tokens=8,
            pattern=Pattern.CONSTANT,
        ),
        slo=Slo(), replicas=Replicas(min=1, max=4, warm=2), quantization=None, max_accuracy_drop=None,
        speculative_method=None, engine=Engine(max_num_seqs=16), overflow=None,
    )  # fmt: skip
    return replace(job, **changes)


def service(job: ServeJob | None = None, made: Choice | None = None, **part: Any) -> Service:
    job = job or serve_job()
    parts = tuple(
        ServedPart(name=name, card=card, path=card.source, choice=made or choice(), **part) for name, card in job.models
    )
    return Service(job=job, parts=parts)


def only_llm_config(config: dict[str, Any]) -> dict[str, Any]:
    (found,) = config["applications"][0]["args"]["llm_configs"]
    return dict(found)


@pytest.mark.ray
def test_serve_and_its_llm_library_accept_it() -> None:
    from ray.serve.llm import LLMConfig
    from ray.serve.schema import ServeDeploySchema

    for emulated in (True, False):
        config = render([service(), service(serve_job(name="cheap"), CPU_CHOICE, cpus=15)], emulated=emulated)
        ServeDeploySchema.model_validate(config)
        for application in config["applications"]:
            for llm_config in application["args"]["llm_configs"]:
                LLMConfig.model_validate(llm_config)


def test_replicas_go_to_the_nodes_that_placement_chose() -> None:
    config = only_llm_config(render([service()], emulated=True))
    assert config["deployment_config"]["placement_group_bundle_label_selector"] == [
        {
            "orchestrator/instance-type": "g6.12xlarge",
            "ray-subcluster": "serve",
            "ray.io/availability-zone": "use1-az1",
            "ray.io/market-type": "spot",
        }
    ]
    assert config["placement_group_config"]["bundles"] == [{"CPU": 1, "GPU": 1, "accelerator_type:L4": 0.001}]


def test_on_demand_offers_select_no_zone() -> None:
    selector = node_selector(choice(market=Market.ON_DEMAND, zone="*", pools=(pool("*", Market.ON_DEMAND),)))
    assert "ray.io/availability-zone" not in selector
    assert selector["ray.io/market-type"] == "on-demand"


@pytest.mark.parametrize(
    ("pools", "markets", "zones"),
    [
        ((pool("a", Market.SPOT), pool("b", Market.SPOT)), "spot", "in(a,b)"),
        ((pool("*", Market.ON_DEMAND), pool("a", Market.SPOT)), "in(on-demand,spot)", None),
    ],
    ids=["spot-zones", "on-demand-base"],
)
def test_a_service_may_run_in_any_of_its_pools(pools: tuple[Pool, ...], markets: str, zones: str | None) -> None:
    selector = node_selector(choice(pools=pools))
    assert selector["ray.io/market-type"] == markets and selector.get("ray.io/availability-zone") == zones


def test_a_budget_bounds_replicas() -> None:
    for most, replicas in ((None, 4), (2, 2), (50, 4)):
        config = only_llm_config(render([service(most_replicas=most)], emulated=False))
        scaling = config["deployment_config"]["autoscaling_config"]
        assert (scaling["min_replicas"] <= scaling["max_replicas"], scaling["max_replicas"]) == (True, replicas)


def test_a_share_asks_for_that_part_of_a_gpu_and_of_its_memory() -> None:
    whole, quarter = (
        only_llm_config(render([service(serve_job(), choice(share=share))], emulated=False)) for share in (1.0, 0.25)
    )
    assert quarter["placement_group_config"]["bundles"] == [{"CPU": 1, "GPU": 0.25, "accelerator_type:L4": 0.001}]
    used = [config["engine_kwargs"]["gpu_memory_utilization"] for config in (whole, quarter)]
    assert used == [0.9, 0.9 * 0.25]


@pytest.mark.parametrize(
    ("made", "emulated", "kind", "tensor", "bundles"),
    [
        pytest.param(choice(), False, "gpu", 1, 1, id="gpu"),
        pytest.param(choice(parallelism=Parallelism(tensor=4, data=1)), False, "gpu", 4, 4, id="tensor-parallel"),
        pytest.param(choice(parallelism=Parallelism(tensor=4, data=1)), True, "cpu", 1, 4, id="emulated-computes-once"),
        pytest.param(CPU_CHOICE, False, "cpu", 1, 1, id="cpu-offer"),
    ],
)
def test_engine_follows_the_hardware(made: Choice, emulated: bool, kind: str, tensor: int, bundles: int) -> None:
    config = only_llm_config(render([service(made=made)], emulated=emulated))
    assert config["accelerator_config"] == {"kind": kind}
    assert config["engine_kwargs"]["tensor_parallel_size"] == tensor
    assert len(config["placement_group_config"]["bundles"]) == bundles
    assert (config["engine_kwargs"]["dtype"] == "float32") == (kind == "cpu")


def test_cpu_offers_ask_for_no_accelerator() -> None:
    config = only_llm_config(render([service(made=CPU_CHOICE, cpus=15)], emulated=False))
    assert config["placement_group_config"]["bundles"] == [{"CPU": 15}]


@pytest.mark.parametrize(
    ("replicas", "least", "most"),
    [
        pytest.param(Replicas(min=1, max=4, warm=0), 1, 4, id="plain"),
        pytest.param(Replicas(min=1, max=4, warm=2), 2, 4, id="warm-raises-the-minimum"),
        pytest.param(Replicas(min=0, max=1, warm=3), 1, 1, id="warm-stays-below-the-maximum"),
        pytest.param(Replicas(min=0, max=2, warm=0), 0, 2, id="to-zero"),
    ],
)
def test_replicas_scale_between_the_bounds(replicas: Replicas, least: int, most: int) -> None:
    scaling = only_llm_config(render([service(serve_job(replicas=replicas))], emulated=True))["deployment_config"]
    assert scaling["autoscaling_config"]["min_replicas"] == least
    assert scaling["autoscaling_config"]["max_replicas"] == most
    assert scaling["autoscaling_config"]["target_ongoing_requests"] == 12


def test_one_service_answers_at_the_root_and_several_at_their_names() -> None:
    one = render([service()], emulated=True, http_host="0.0.0.0", http_port=9000)
    assert one["applications"][0]["route_prefix"] == "/"
    assert one["http_options"] == {"host": "0.0.0.0", "port": 9000}
    two = render([service(serve_job(name="zeta")), service(serve_job(name="alpha"))], emulated=True)
    assert [app["route_prefix"] for app in two["applications"]] == ["/alpha", "/zeta"]
    assert render([], emulated=True)["applications"] == []


def test_routing_rules_reach_the_ingress() -> None:
    arguments = render([service()], emulated=True)["applications"][0]["args"]["service"]
    assert arguments["routes"] == [{"when": ["prompt_words", "<", 50.0], "to": "small", "max_tokens": 128}]
    assert arguments["parts"] == ["small"]
    assert arguments["aliases"] == {"chat-3b": "small"}
    assert arguments["contexts"] == {"small": 8192}


def test_tasks_without_an_application_are_refused() -> None:
    with pytest.raises(InputError, match="classify"):
        render([service(serve_job(task=Task.CLASSIFY))], emulated=True)


def test_deployment_names_are_those_of_the_library() -> None:
    assert deployment_name("org/model.v1") == "LLMServer:org--model_v1"
