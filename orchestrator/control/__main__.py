"""The controller's process: `python -m orchestrator.control --state-dir DIR`, started by `orchestrator up`."""

import argparse
import fcntl
import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import uvicorn

from orchestrator.cluster.state import ClusterState, StateDir, resolve_state_dir
from orchestrator.model.error import OperationError, OrchestratorError


def main() -> None:
    """Serve the API in this thread and run the loop in another, until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state-dir", type=Path, default=None)
    state = resolve_state_dir(parser.parse_args().state_dir, os.environ)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    for chatty in ("httpx", "alembic"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    try:
        cluster = state.load()
        if cluster is None:
            raise OperationError(f"no cluster is recorded in {state.root}.", "Start one with `orchestrator up`.")
        with _only_one(state):
            _serve(state, cluster)
    except OrchestratorError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


def _serve(state: StateDir, cluster: ClusterState) -> None:
    token = Path(cluster.token_path).read_text().strip()
    _prepare_ray(cluster)
    from orchestrator.control.api import create_app
    from orchestrator.control.compose import compose
    from orchestrator.control.loop import run_loop

    controller = compose(state, cluster, token)
    stop = threading.Event()
    loop = threading.Thread(target=run_loop, args=(controller, stop), name="loop")
    address = urlsplit(cluster.api_url)
    config = uvicorn.Config(
        create_app(controller, token),
        host=address.hostname or "127.0.0.1",
        port=address.port or 0,
        log_level="warning",
        access_log=False,
    )
    loop.start()
    try:
        uvicorn.Server(config).run()
    finally:
        stop.set()
        loop.join()
        controller.database.close()


def _prepare_ray(cluster: ClusterState) -> None:
    """Settings that Ray reads once, when it is first imported.

    Without the time-out Ray ends this very process after a minute without its GCS; the controller outlives that.
    """
    os.environ["RAY_gcs_rpc_server_reconnect_timeout_s"] = str(2**31 - 1)  # noqa: SIM112 - Ray's own spelling
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    os.environ.setdefault("RAY_AUTH_TOKEN_PATH", cluster.token_path)


@contextmanager
def _only_one(state: StateDir) -> Iterator[None]:
    """Two loops on one ledger would both act; the lock goes with the process, however it ends."""
    with (state.root / "controller.lock").open("a+") as lock:
        lock.seek(0)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            other = lock.read().strip() or "unknown"
            raise OperationError(
                f"another controller (process {other}) works on {state.root}.", "End it first."
            ) from error
        lock.truncate()
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield


if __name__ == "__main__":
    main()
