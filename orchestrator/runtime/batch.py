"""Batch inference on Ray Data: an engine per worker takes whole shards, answers them and commits them itself.

Only the numbers of shards go through Ray; rows are read, and results written, where the engine is. A worker that dies
therefore costs the shard it was on, and a shard that was committed is never answered again.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

import ray
from ray.data import ActorPoolStrategy, DataContext

from orchestrator.model.assignment import Assignment
from orchestrator.runtime.batch_engine import VllmEngine
from orchestrator.runtime.batch_input import Shard
from orchestrator.runtime.batch_log import ShardLog, ShardStat
from orchestrator.runtime.batch_shard import BatchSpec, Engine, answer_shard

NO_PROGRESS_TIMEOUT_S = 24 * 3600
"""Ray Data gives up after 30 minutes without progress; waiting for spot capacity takes longer."""

MakeEngine = Callable[[BatchSpec], Engine]


class ShardWorker:
    """Ray Data's actor: loads the engine once, then answers a shard per call."""

    def __init__(self, spec: BatchSpec, shards: Sequence[Shard], make_engine: MakeEngine) -> None:
        self._spec = spec
        self._shards = {shard.number: shard for shard in shards}
        self._log = ShardLog(spec.output)
        self._engine = make_engine(spec)

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        """Statistics of the shards whose numbers came; a shard that is done already is not answered again."""
        stats = [self._done_or_answered(self._shards[int(number)]) for number in batch["number"]]
        return {key: [asdict(stat)[key] for stat in stats] for key in ShardStat.__dataclass_fields__}

    def _done_or_answered(self, shard: Shard) -> ShardStat:
        return self._log.stat(shard) or answer_shard(self._spec, shard, self._log, self._engine)


def run_shards(
    spec: BatchSpec,
    shards: Sequence[Shard],
    assignment: Assignment,
    env: dict[str, str],
    make_engine: MakeEngine = VllmEngine,
) -> Iterator[ShardStat]:
    """Answer shards on the nodes that placement chose; yields each as it is committed.

    All workers are asked for at once, so that the autoscaler sees the whole demand; it gets the same labels, so that it
    starts the chosen node type and no other. Lost workers come back on new nodes without limit.
    """
    context = DataContext.get_current()
    context.execution_options.label_selector = dict(assignment.label_selector)
    context.execution_options.verbose_progress = False
    context.execution_no_progress_timeout_s = NO_PROGRESS_TIMEOUT_S
    context.enable_progress_bars = False
    workers = max(1, min(assignment.num_workers, len(shards)))
    # One block per shard. `from_items` makes blocks here; `from_arrow` would ask for a CPU each, and for nodes for it.
    numbers = ray.data.from_items([{"number": shard.number} for shard in shards], override_num_blocks=len(shards))
    answered = numbers.map_batches(
        ShardWorker,
        fn_constructor_kwargs={"spec": spec, "shards": list(shards), "make_engine": make_engine},
        batch_size=1,
        batch_format="numpy",
        compute=ActorPoolStrategy(min_size=workers, max_size=workers, max_tasks_in_flight_per_actor=2),
        runtime_env={"env_vars": env},
        max_restarts=-1,
        max_task_retries=-1,
        **_resources(assignment),
    )
    for row in answered.iter_rows():
        yield ShardStat(**row)


def _resources(assignment: Assignment) -> dict[str, Any]:
    """What a worker holds. Beside an accelerator it takes no logical CPU, so that it never starves anything else."""
    if assignment.accelerator is None:
        return {"num_cpus": assignment.cpus_per_worker}
    return {
        "num_cpus": 0,
        "num_gpus": assignment.accelerators_per_worker,
        "resources": {f"accelerator_type:{assignment.accelerator}": 0.001},
    }
