"""How verbs ask the running controller."""

from pathlib import Path
from typing import Any

import httpx

from orchestrator.cli.screen import visible
from orchestrator.cluster.state import ClusterState, StateDir
from orchestrator.model.error import OperationError

TIMEOUT_S = 60.0
"""Applying a large catalog plans it first; a look at a busy cluster takes seconds."""

NO_CLUSTER = "no cluster is up"


class NoControllerError(OperationError):
    """There is no cluster, or its controller does not answer; the ledger can still be read."""


def ask(state: StateDir, method: str, path: str, **options: Any) -> httpx.Response:
    """One request to the controller of that state directory; NoControllerError when nobody is there."""
    cluster = _cluster(state)
    try:
        token = Path(cluster.token_path).read_text().strip()
        return httpx.request(
            method,
            f"{cluster.api_url}{path}",
            headers={"Authorization": f"Bearer {token}"},
            timeout=TIMEOUT_S,
            trust_env=False,
            **options,
        )
    except (httpx.HTTPError, OSError) as error:
        what = f"the controller at {cluster.api_url} does not answer ({error});"
        raise NoControllerError(what, f"see {state.logs / 'controller.log'}, or run `orchestrator down`.") from error


def get_json(state: StateDir, path: str, **params: Any) -> Any:
    """The answer to a GET; OperationError when the controller refuses."""
    answer = ask(state, "GET", path, params=params)
    if not answer.is_success:
        raise OperationError(f"the controller answers {answer.status_code}: {error_of(answer)}")
    return answer.json()


def error_of(answer: httpx.Response) -> str:
    """What a refusal says."""
    try:
        told = str(answer.json()["error"])
    except (ValueError, KeyError, TypeError):
        told = answer.text[:500]
    return visible(told, newlines=True)


def _cluster(state: StateDir) -> ClusterState:
    cluster = state.load()
    if cluster is None:
        raise NoControllerError(f"{NO_CLUSTER} in {state.root}.", "Start one with `orchestrator up`.")
    return cluster
