"""Runs a training function on the nodes of an assignment with Ray Train."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.model.assignment import Assignment
from orchestrator.model.error import InputError, OperationError
from orchestrator.model.job import TrainJob
from orchestrator.runtime import storage
from orchestrator.runtime.controller import Controller
from orchestrator.runtime.user_errors import TRIES, Guarded, user_error

MAX_FAILURES = 10
"""Nodes lost without notice before a run fails. Notices are not counted; errors of the user's code end it sooner
(user_errors.py)."""

RAY_SETTINGS = {
    "RAY_TRAIN_PREEMPTION_POLL_INTERVAL_S": "1",  # how soon workers learn of a notice; by default 5 s of it are lost
    "RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": "0.5",  # how soon an uploaded checkpoint is committed; Ray: 2 s
}

ACCELERATOR_SHARE = 0.001
"""What each worker takes of the `accelerator_type:X` resource, as Ray's own `accelerator_type` option does."""


def fit(
    assignment: Assignment, loop: Callable[[dict[str, Any]], Any], config: Mapping[str, Any], controller: Controller
) -> dict[str, Any]:
    """Runs `loop(config)` on every worker until it returns, restarting it after interruptions; what rank 0 returned.

    InputError when the loop's own code fails twice in the same way, OperationError when training fails otherwise.
    """
    for name, value in RAY_SETTINGS.items():
        os.environ.setdefault(name, value)
    from ray.train.v2.api.exceptions import TrainingFailedError

    try:
        result = trainer(assignment, loop, config, controller).fit()
    except TrainingFailedError as error:
        raise OperationError(f"training failed: {_last_line(error)}.", "The job's log has the whole error.") from error
    wrong = user_error(result.return_value)
    if wrong is not None:
        raise InputError(
            f"the training function failed {TRIES} times in the same way: {wrong.strip().splitlines()[-1]}",
            f"Its last lines:\n{wrong.strip()}",
        )
    return dict(result.return_value or {})


def trainer(
    assignment: Assignment, loop: Callable[[dict[str, Any]], Any], config: Mapping[str, Any], controller: Controller
) -> Any:
    """The TorchTrainer of an assignment. The run's name is its id, so a later driver continues from its checkpoints."""
    from ray.train import CheckpointConfig, FailureConfig, LoggingConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    from orchestrator.runtime.train_events import TrainEvents

    job = assignment.job
    assert isinstance(job, TrainJob)
    restarts = job.checkpoint.recovery == "auto-restart"
    filesystem, path = storage.filesystem(job.checkpoint.storage)
    return TorchTrainer(
        Guarded(loop, storage.join(job.checkpoint.storage, assignment.run_id, "user-error.json")),
        train_loop_config=dict(config),
        torch_config=TorchConfig(backend=backend(assignment)),
        scaling_config=ScalingConfig(
            num_workers=assignment.num_workers,
            use_gpu=assignment.accelerators_per_worker > 0,
            resources_per_worker=worker_resources(assignment),
            label_selector=dict(assignment.label_selector),
        ),
        run_config=RunConfig(
            name=assignment.run_id,
            storage_path=path,
            storage_filesystem=filesystem,
            failure_config=FailureConfig(
                max_failures=MAX_FAILURES if restarts else 0, max_preemption_failures=-1 if restarts else 0
            ),
            checkpoint_config=CheckpointConfig(num_to_keep=job.checkpoint.keep),
            logging_config=LoggingConfig(log_level="WARNING"),  # INFO prints every report at length
            callbacks=[TrainEvents(controller.url, controller.token_path, assignment.run_id)],
        ),
    )


def worker_resources(assignment: Assignment) -> dict[str, float]:
    """Ray resources of one worker."""
    found: dict[str, float] = {"CPU": float(assignment.cpus_per_worker)}
    if assignment.accelerators_per_worker:
        found["GPU"] = float(assignment.accelerators_per_worker)
    if assignment.accelerator:
        found[f"accelerator_type:{assignment.accelerator}"] = ACCELERATOR_SHARE
    return found


def backend(assignment: Assignment) -> str:
    """NCCL where there are real GPUs. Ray would choose it for emulated ones too, and die."""
    return "nccl" if assignment.accelerators_per_worker and not assignment.emulated else "gloo"


def _last_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines or [type(error).__name__])[-1][:300].rstrip(".")
