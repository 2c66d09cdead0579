"""The state directory of a cluster: where its files are, and `cluster.json`, which says what is running."""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from orchestrator.cluster.process import RecordedProcess
from orchestrator.model.error import InputError, OperationError

STATE_DIR_VARIABLE = "ORCHESTRATOR_STATE_DIR"
DEFAULT_STATE_DIR = ".orchestrator"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState:
    """What `up` started. `name` is unique per start; `ready` is False while `up` is still at work.

    `region` is AWS's, "" for a local cluster; `started_at` is ISO 8601 UTC. `pids` maps a role ("head", "controller")
    to its process.
    """

    name: str
    provider: str
    ray_address: str
    dashboard_url: str
    api_url: str
    serve_url: str
    ray_temp_dir: str
    token_path: str
    database_url: str
    started_at: str
    region: str = ""
    ready: bool = False
    pids: Mapping[str, RecordedProcess] = field(default_factory=dict)


_STATE = TypeAdapter(ClusterState)


@dataclass(frozen=True, slots=True)
class StateDir:
    """Paths below one state directory; nothing is created by asking for one."""

    root: Path

    @property
    def cluster_file(self) -> Path:
        """JSON of the running cluster; absent = none."""
        return self.root / "cluster.json"

    @property
    def lock_file(self) -> Path:
        """Held by `up` and `down`, so that two never work at once."""
        return self.root / "lock"

    @property
    def token_path(self) -> Path:
        """Ray's authentication token, mode 0600."""
        return self.root / "auth_token"

    @property
    def autoscaling_config(self) -> Path:
        """What Ray's autoscaler reads, again at every step."""
        return self.root / "autoscaling.yaml"

    @property
    def logs(self) -> Path:
        """Output of the head, the controller and every emulated instance."""
        return self.root / "logs"

    @property
    def cloud(self) -> Path:
        """Files of the local cloud."""
        return self.root / "cloud"

    @property
    def instances(self) -> Path:
        """One record per emulated instance; kept after its end, as history."""
        return self.cloud / "instances"

    @property
    def orders(self) -> Path:
        """One file per instance: what it shall do next (terminate, interrupt)."""
        return self.cloud / "orders"

    @property
    def refusals(self) -> Path:
        """One file per node type that could not be launched, and why."""
        return self.cloud / "refusals"

    @property
    def faults(self) -> Path:
        """Stock-outs and delays that the local cloud emulates."""
        return self.cloud / "faults.json"

    @property
    def database_url(self) -> str:
        """SQLAlchemy URL of the ledger; it outlives the cluster."""
        return f"sqlite:///{self.root / 'ledger.db'}"

    def load(self) -> ClusterState | None:
        """The recorded cluster, or None; an unreadable file is an error, never "none"."""
        try:
            text = self.cluster_file.read_bytes()
        except FileNotFoundError:
            return None
        try:
            return _STATE.validate_json(text)
        except ValidationError as error:
            raise OperationError(
                f"{self.cluster_file} is not readable as a cluster record ({error.error_count()} faults).",
                "Remove the file if no cluster of this directory is running.",
            ) from error

    def save(self, state: ClusterState) -> None:
        """Writes `cluster.json` atomically."""
        write_atomically(self.cluster_file, _STATE.dump_json(state, indent=2))

    def forget(self) -> None:
        """Removes `cluster.json`."""
        self.cluster_file.unlink(missing_ok=True)


def resolve_state_dir(option: Path | None, environ: Mapping[str, str]) -> StateDir:
    """The state directory: the option, else ORCHESTRATOR_STATE_DIR, else `./.orchestrator`; always absolute.

    InputError when no directory can be there.
    """
    chosen = option or Path(environ.get(STATE_DIR_VARIABLE) or DEFAULT_STATE_DIR)
    try:
        root = chosen.expanduser().resolve()
    except RuntimeError as error:  # what pathlib raises for an unknown user and for links in a circle
        raise InputError(f"{chosen} cannot be the state directory: {error}", "Give another --state-dir.") from error
    existing = next(path for path in (root, *root.parents) if path.exists())
    if not existing.is_dir():
        raise InputError(
            f"{root} cannot be the state directory: {existing} is not a directory.", "Give another --state-dir."
        )
    return StateDir(root)


def write_atomically(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Readers see the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
