"""Fixtures that every area may use.

`local_cluster` starts a real local cluster (Ray under autoscaler v2, emulated nodes) and is what workload tests need:

    @pytest.mark.ray
    def test_something(local_cluster):
        cluster = local_cluster()                      # or local_cluster(node_types=(...,), idle_timeout_s=5)
        with cluster.connect() as ray:                 # a driver in this process, on the cluster
            ray.get(task.options(num_gpus=1, resources={"accelerator_type:L4": 0.001},
                                 label_selector={"orchestrator/instance-type": "g6.xlarge"}).remote())
        subprocess.run([...], env=cluster.environment)  # or a driver of its own, `ray job submit`, the command line
        chaos.interrupt(cluster.state, chaos.live_instances(cluster.state)[0].instance_id, notice_s=10)

One cluster runs at a time and is kept for the next test that asks for the same options (its nodes too, until they are
idle for `idle_timeout_s`); `fresh=True` starts another in any case. Without `node_types` it can launch those of
`emulated_node_types`: L4 (g6.xlarge, spot in two zones and on-demand), a service one, and a CPU machine (c7i.xlarge).
No controller runs.

Ray reads its authentication mode and token once per process. All clusters of a test session share one token, set here
before Ray is imported; tests that call `ray.init()` on their own work with it.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from orchestrator.cluster.autoscaling_config import Scaling
from orchestrator.cluster.faults import Faults, change_faults
from orchestrator.cluster.lifecycle import UpOptions, down, up
from orchestrator.cluster.ray_process import shell_environment
from orchestrator.cluster.state import ClusterState, StateDir, write_atomically
from orchestrator.model.node import ANY_ZONE, NodeType, node_type_name
from orchestrator.model.offer import Accelerator, InstanceType, Interconnect, Market, Offer

TOKEN = "5" * 64
os.environ["RAY_AUTH_MODE"] = "token"
os.environ["RAY_AUTH_TOKEN"] = TOKEN
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
# Tests plan with the shipped prices, whatever list the developer's own `offers refresh` wrote.
os.environ.pop("ORCHESTRATOR_PRICES", None)
os.environ["XDG_DATA_HOME"] = "/nonexistent"

CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


@dataclass(frozen=True)
class RunningCluster:
    """A cluster under test. `environment` is that of a user's shell after `orchestrator env`."""

    state: StateDir
    info: ClusterState

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, **shell_environment(self.state, self.info)}

    @contextmanager
    def connect(self) -> Iterator[ModuleType]:
        """Connects this process as a driver; disconnects at the end."""
        import ray

        ray.init(address=self.info.ray_address, log_to_driver=False, namespace="tests")
        try:
            yield ray
        finally:
            ray.shutdown()


@pytest.fixture(scope="session")
def l4_machine() -> InstanceType:
    """A g6.xlarge: 4 vCPUs, 16 GiB, one L4."""
    accelerator = Accelerator(
        name="L4", memory_gib=22.0, fp16_tflops=121.0, bf16_tflops=121.0, fp32_tflops=30.0, int8_tops=242.0,
        memory_bandwidth_gb_per_s=300.0, source="test",
    )  # fmt: skip
    return InstanceType(
        name="g6.xlarge", vcpus=4, memory_gib=16.0, accelerator=accelerator, accelerators=1,
        interconnect=Interconnect.NONE, network_gbit_per_s=10.0, efa=False, quota_family="G", cpu_fp32_tflops=0.2,
        memory_bandwidth_gb_per_s=50.0, source="test",
    )  # fmt: skip


@pytest.fixture(scope="session")
def cpu_machine(l4_machine: InstanceType) -> InstanceType:
    """A c7i.xlarge: 4 vCPUs, 8 GiB, no accelerator."""
    return replace(l4_machine, name="c7i.xlarge", memory_gib=8.0, accelerator=None, accelerators=0, quota_family="Std")


def make_offer(machine: InstanceType, market: Market, zone: str, price: str = "0.30", on_demand: str = "0.80") -> Offer:
    return Offer(
        name=f"{machine.name}:{market}:us-east-1:{zone}", instance=machine, market=market, region="us-east-1",
        zone=zone, price_usd_per_hour=Decimal(price), on_demand_usd_per_hour=Decimal(on_demand),
        interruptions_per_hour=0.05, local_zone=False, source="test", as_of="2026-11-01",
    )  # fmt: skip


@pytest.fixture(scope="session")
def offer() -> Callable[..., Offer]:
    """Builds an offer: `offer(machine, Market.SPOT, "use1-az1", "0.30", "0.80")`."""
    return make_offer


@pytest.fixture(scope="session")
def node_type() -> Callable[..., NodeType]:
    """Builds an emulated node type from an offer: `node_type(offer, serve=False)`."""

    def build(offer: Offer, *, serve: bool = False, max_workers: int = 4) -> NodeType:
        name = node_type_name(offer.instance.name, offer.market, offer.zone, serve=serve)
        return NodeType(name=name, offer=offer, serve=serve, emulated=True, max_workers=max_workers)

    return build


@pytest.fixture(scope="session")
def emulated_node_types(
    l4_machine: InstanceType, cpu_machine: InstanceType, node_type: Callable[..., NodeType]
) -> tuple[NodeType, ...]:
    """What a test cluster can launch by default."""
    return (
        node_type(make_offer(l4_machine, Market.SPOT, "use1-az1")),
        node_type(make_offer(l4_machine, Market.SPOT, "use1-az2", "0.31")),
        node_type(make_offer(l4_machine, Market.ON_DEMAND, ANY_ZONE, "0.80")),
        node_type(make_offer(l4_machine, Market.SPOT, "use1-az1"), serve=True),
        node_type(make_offer(cpu_machine, Market.ON_DEMAND, ANY_ZONE, "0.18", "0.18")),
    )


@pytest.fixture(scope="session")
def local_cluster(
    tmp_path_factory: pytest.TempPathFactory, emulated_node_types: tuple[NodeType, ...]
) -> Iterator[Callable[..., RunningCluster]]:
    """Starts a local cluster, or returns the running one when the options are the same; see the top of this file."""
    current: dict[str, Any] = {}

    def stop() -> None:
        if current:
            down(current["cluster"].state)
            current.clear()

    def start(
        node_types: Sequence[NodeType] = emulated_node_types,
        *,
        idle_timeout_s: float = 20.0,
        head_cpus: int = 4,
        launch_delay_s: float = 0.2,
        fresh: bool = False,
    ) -> RunningCluster:
        key = (tuple(node_types), idle_timeout_s, head_cpus, launch_delay_s)
        if current.get("key") == key and not fresh:
            return current["cluster"]
        stop()
        state = StateDir(tmp_path_factory.mktemp("cluster"))
        write_atomically(state.token_path, TOKEN.encode(), mode=0o600)
        change_faults(state, lambda _: Faults(launch_delay_s=launch_delay_s))
        scaling = Scaling(head_cpus=head_cpus, idle_timeout_s=idle_timeout_s)
        info = up(state, node_types, UpOptions(scaling=scaling, controller=False))
        current.update(key=key, cluster=RunningCluster(state, info))
        return current["cluster"]

    yield start
    stop()


@pytest.fixture(scope="session")
def until() -> Callable[..., Any]:
    """Polls a condition: `until(lambda: ..., 30)` returns its first true value, or fails after that many seconds."""

    def wait(condition: Callable[[], Any], timeout_s: float, what: str = "the condition") -> Any:
        deadline_s = time.monotonic() + timeout_s
        while time.monotonic() < deadline_s:
            value = condition()
            if value:
                return value
            time.sleep(0.2)
        raise AssertionError(f"{what} did not hold within {timeout_s} s")

    return wait


@pytest.fixture
def state_dir(tmp_path: Path) -> StateDir:
    """An empty state directory."""
    return StateDir(tmp_path / "state")


@pytest.fixture(scope="session")
def make_llama(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int, int], Path]:
    """Makes the folder of a Llama with random weights and a byte-level tokenizer, of a hidden size and a depth."""

    def make(hidden: int, layers: int) -> Path:
        import torch
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers
        from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

        torch.manual_seed(0)
        vocabulary = [*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet()), "an"]
        numbered = {token: number for number, token in enumerate(vocabulary)}
        bpe = Tokenizer(models.BPE(vocab=numbered, merges=[("a", "n")]))
        bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        bpe.decoder = decoders.ByteLevel()
        bpe.add_special_tokens(SPECIAL)
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token="<|im_end|>", pad_token="<|im_end|>")
        tokenizer.chat_template = CHAT_TEMPLATE
        config = LlamaConfig(
            vocab_size=len(vocabulary), hidden_size=hidden, intermediate_size=hidden * 11 // 4,
            num_hidden_layers=layers, num_attention_heads=hidden // 32, num_key_value_heads=hidden // 32, head_dim=32,
            max_position_embeddings=1024, bos_token_id=0, eos_token_id=2, pad_token_id=2, tie_word_embeddings=True,
            dtype="float32",
        )  # fmt: skip
        folder = tmp_path_factory.mktemp("models") / f"llama-{hidden}x{layers}"
        LlamaForCausalLM(config).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder

    return make


@pytest.fixture(scope="session")
def tiny_llama(make_llama: Callable[[int, int], Path]) -> Path:
    """3M parameters: what tests on a cluster and in engines use."""
    return make_llama(256, 4)


@pytest.fixture(scope="session")
def mini_llama(make_llama: Callable[[int, int], Path]) -> Path:
    """0.1M parameters: what tests in this process use."""
    return make_llama(64, 2)


@pytest.fixture
def run_command(monkeypatch, capsys):
    """Calls `orchestrator` in this process: (exit code, standard output, standard error)."""

    def call(*arguments: str) -> tuple[int, str, str]:
        from orchestrator.cli.main import main

        monkeypatch.setattr(sys, "argv", ["orchestrator", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call
