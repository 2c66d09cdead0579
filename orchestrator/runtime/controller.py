"""How a driver talks to the controller: it asks for its assignment and tells what happens."""

import json
import logging
import math
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
from pydantic import TypeAdapter, ValidationError
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_exponential_jitter

from orchestrator.model.assignment import Assignment
from orchestrator.model.error import InputError, OperationError
from orchestrator.runtime.outbox import Outbox, Undelivered

ASSIGNMENT = TypeAdapter(Assignment)
TIMEOUT_S = 10.0
PATIENCE_S = 90.0
"""How long a driver waits for a controller that is being restarted before it gives up on its assignment."""

_JOB_CONFIG = "RAY_JOB_CONFIG_JSON_ENV_VAR"
"""Set by `ray job submit` for its drivers; its metadata holds the submission id (Ray 2.60 `job_supervisor.py`)."""

Scalar = str | float | int | bool
logger = logging.getLogger(__name__)


class Controller:
    """Client of the controller's HTTP API. Reports are sent in the background and never stop the work they tell of."""

    def __init__(
        self,
        url: str,
        token_path: str,
        *,
        submission_id: str | None = None,
        patience_s: float = PATIENCE_S,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.url = url
        self.token_path = token_path
        self._submission_id = submission_id
        self._patience_s = patience_s
        token = Path(token_path).read_text().strip() if token_path else ""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=TIMEOUT_S, transport=transport)
        self._outbox = Outbox(self._deliver)

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> "Controller":
        """The controller of the cluster this process belongs to, as `orchestrator up` and `orchestrator env` set it."""
        url = env.get("ORCHESTRATOR_API_URL")
        if not url:
            raise InputError("there is no cluster here.", "Run `orchestrator up`, then `ray job submit` the job to it.")
        token_path = env.get("ORCHESTRATOR_TOKEN_PATH", "")
        if token_path and not Path(token_path).is_file():
            raise InputError(f"the token file {token_path} is missing.", "Run `orchestrator up` again.")
        return cls(url, token_path, submission_id=submission_id(env))

    def begin_run(
        self, job: str, catalog_text: str | None = None, base_dir: str | None = None, kind: str | None = None
    ) -> Assignment:
        """The assignment of this driver's attempt, which runs jobs of `kind`. Waits while the controller restarts.

        InputError when the catalog or the job's name is wrong, OperationError when the run may not begin now.
        """
        body = {
            "job": job,
            "kind": kind,
            "submission_id": self._submission_id,
            "catalog_text": catalog_text,
            "base_dir": base_dir,
        }
        try:
            response = self._patiently("/v1/runs", body)
        except (httpx.HTTPError, Undelivered) as error:
            raise OperationError(
                f"the controller at {self.url} does not answer ({error}).", "Check `orchestrator status`."
            ) from error
        _raise_for(response, job)
        try:
            return ASSIGNMENT.validate_json(response.content)
        except ValidationError as error:
            raise OperationError(
                f"the controller's answer cannot be understood: {error.error_count()} faults.",
                "Driver and controller must be of the same version.",
            ) from error

    def report(self, run_id: str, kind: str, message: str, **data: Scalar) -> None:
        """Queues an event of a run. Returns at once; while the controller is away events wait, up to a bound.

        A loss of NaN is news, but no JSON number: it is told as text.
        """
        told = {name: _sendable(value) for name, value in data.items()}
        self._outbox.put((f"/v1/runs/{run_id}/events", {"kind": kind, "message": message, "data": told}))

    def close(self, timeout_s: float = 15.0) -> None:
        """Waits until what was reported is delivered, at most `timeout_s`; warns about what was not."""
        self._outbox.close(timeout_s)
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _patiently(self, path: str, body: dict[str, Any]) -> httpx.Response:
        retrying = Retrying(
            retry=retry_if_exception_type((httpx.TransportError, Undelivered)),
            wait=wait_exponential_jitter(multiplier=0.2, max=5.0),
            stop=stop_after_delay(self._patience_s),
            reraise=True,
        )
        return retrying(self._post, path, body)

    def _deliver(self, item: tuple[str, dict[str, Any]]) -> None:
        """Sends one event. Undelivered = try again later; an event that the controller refuses is dropped."""
        path, body = item
        try:
            response = self._post(path, body)
        except httpx.TransportError as error:
            raise Undelivered(str(error)) from error
        if response.is_error:
            logger.warning("the controller refused an event (%s): %s", response.status_code, body["message"])

    def _post(self, path: str, body: dict[str, Any]) -> httpx.Response:
        response = self._http.post(path, json=body)
        if response.is_server_error:
            raise Undelivered(f"HTTP {response.status_code}")
        return response


def submission_id(env: Mapping[str, str]) -> str | None:
    """The `ray job submit` id of this driver; None when it was started otherwise."""
    try:
        return json.loads(env.get(_JOB_CONFIG, "{}")).get("metadata", {}).get("job_submission_id")
    except (ValueError, AttributeError):
        return None


def _raise_for(response: httpx.Response, job: str) -> None:
    """Turns an answer that is not an assignment into the error that says what to do."""
    if response.is_success:
        return
    try:
        body = response.json()
    except ValueError:
        body = {}
    reason = body.get("error") or body.get("detail") or f"HTTP {response.status_code}"
    if response.status_code in {401, 403}:
        raise InputError(
            "the controller refused the token.", "Set ORCHESTRATOR_TOKEN_PATH as `orchestrator env` prints."
        )
    if response.status_code == 422:
        raise InputError("\n".join(body.get("faults", [])) or str(reason))
    if response.status_code == 404:
        raise InputError(f"{job}: {reason}", "Run `orchestrator apply CATALOG`, or pass --catalog.")
    raise OperationError(str(reason))


def _sendable(value: Scalar) -> Scalar:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
