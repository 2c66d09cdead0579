"""The replica that runs a model: Ray's LLM server, without the processes that a local model or a CPU does not need.

Each process here imports torch and vLLM, which takes 10 CPU seconds and 0.7 GB; on a small machine that is most of a
start. The overrides follow Ray 2.60.0 and vLLM 0.32.0.
"""

from pathlib import Path
from typing import Any

from ray.llm._internal.serve.engines.vllm.vllm_engine import VLLMEngine
from ray.serve.llm.deployment import LLMServer


class FrugalEngine(VLLMEngine):
    """Starts no download task for a model that is on disk, and on CPU no worker process of its own."""

    async def start(self) -> None:
        """Start the engine once."""
        source = self.llm_config.model_loading_config.model_source
        if isinstance(source, str) and Path(source).is_dir():
            self.llm_config.get_or_create_callback().ctx.run_init_node = False
        await super().start()

    def _start_async_llm_engine(self, vllm_engine_args: Any, vllm_engine_config: Any, placement_group: Any) -> Any:
        parallel = vllm_engine_config.parallel_config
        if vllm_engine_config.device_config.device_type == "cpu" and parallel.world_size == 1:
            # Ray asks for "mp" on CPU, for vLLM's binding of threads to cores; here the environment sets threads.
            parallel.distributed_executor_backend = "uni"
        return super()._start_async_llm_engine(vllm_engine_args, vllm_engine_config, placement_group)


class ModelServer(LLMServer):
    """Serves one model and sends no usage report (which would be an actor with torch in it)."""

    _default_engine_cls = FrugalEngine

    async def _start_engine(self) -> None:
        await self.engine.start()
