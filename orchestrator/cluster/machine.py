"""One emulated instance: boots, runs a raylet and the interruption watcher, and is taken away like a spot machine.

Runs as `python -m orchestrator.cluster.machine STATE_DIR INSTANCE_ID`, one process per instance, and is the only
writer of that instance's record once it runs. It plays the hypervisor: the notice, the deadline and the end of the
machine come from here, and nothing that runs on the instance can prevent them.
"""

import os
import secrets
import signal
import subprocess
import sys
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from orchestrator.cluster import instance as record_file
from orchestrator.cluster.clock import utc_now
from orchestrator.cluster.faults import load_faults
from orchestrator.cluster.instance import InstanceRecord, Order
from orchestrator.cluster.metadata_server import Metadata, MetadataServer
from orchestrator.cluster.process import INSTANCE_MARK, end_marked, record
from orchestrator.cluster.ray_process import node_command, node_environment
from orchestrator.cluster.state import StateDir
from orchestrator.model.error import OperationError
from orchestrator.model.instant import from_iso, to_iso

TICK_S = 0.2
ORPHAN_CHECK_S = 5.0
START_ATTEMPTS = 3
STARTED_LINE = b"Ray runtime started."
"""What `ray start` prints once the raylet has registered (Ray 2.60 `scripts.py`)."""


class Machine:
    """The life of one instance. `run` returns when it is over."""

    def __init__(self, state: StateDir, instance_id: str) -> None:
        found = record_file.load_record(state, instance_id)
        cluster = state.load()
        if found is None or cluster is None:
            raise OperationError(f"no record of instance {instance_id} or of its cluster in {state.root}.")
        self._cluster = cluster
        self._state = state
        self._record = found
        self._seen: Order | None = None
        self._stop_requested = False
        self._starts = 1
        self._children: list[subprocess.Popen[bytes]] = []
        self._metadata = MetadataServer(
            Metadata(
                instance_id=instance_id,
                instance_type=found.spec.instance_type,
                market=found.spec.market.value,
                region=found.spec.region,
                zone=found.spec.zone,
            )
        )

    def run(self) -> None:
        """Boots, works until something ends the instance, and leaves a closed record and no process."""
        signal.signal(signal.SIGTERM, self._on_signal)
        self._metadata.start()
        self._update(machine=record(os.getpid()), metadata_port=self._metadata.port)
        faults = load_faults(self._state)
        reason = self._work(time.monotonic() + faults.launch_delay_s + faults.boot_delay_s)
        ended_at = to_iso(utc_now())
        end_marked(INSTANCE_MARK, self._record.instance_id, grace_s=0.0)
        for child in self._children:
            child.wait()
        self._metadata.stop()
        self._update(terminated_at=ended_at, end_reason=reason)

    def _work(self, boot_at_s: float) -> str:
        """The loop; returns the end reason."""
        next_orphan_check_s = 0.0
        while True:
            now_s = time.monotonic()
            if not self._children and now_s >= boot_at_s:
                self._start_processes()
            self._note_ready()
            reason = self._restart_ray() or self._obey()
            if reason:
                return reason
            if now_s >= next_orphan_check_s:
                next_orphan_check_s = now_s + ORPHAN_CHECK_S
                if self._orphaned():
                    return record_file.DOWN
            time.sleep(TICK_S)

    def _obey(self) -> str:
        """Follows the newest order and the deadline; returns the end reason once the instance has to go."""
        order = record_file.load_order(self._state, self._record.instance_id)
        if order is not None and order != self._seen:
            self._seen = order
            if order.kind == "rebalance":
                self._metadata.announce(rebalance_at=to_iso(utc_now()))
            elif order.kind == "interrupt" and not self._record.deadline_at:
                self._interrupt(order.notice_s)
        if self._stop_requested or (self._seen is not None and self._seen.kind == "terminate"):
            return self._end_reason(self._seen)
        if self._record.deadline_at and utc_now() >= from_iso(self._record.deadline_at):
            return record_file.WITH_NOTICE if self._record.notice_at else record_file.WITHOUT_NOTICE
        return ""

    def _interrupt(self, notice_s: float) -> None:
        now = utc_now()
        deadline = to_iso(now + timedelta(seconds=notice_s))
        if notice_s > 0:
            # AWS gives whole seconds; a deadline must never be later than the real one.
            self._metadata.announce(interruption_at=from_iso(deadline).strftime("%Y-%m-%dT%H:%M:%SZ"))
        self._update(notice_at=to_iso(now) if notice_s > 0 else "", deadline_at=deadline)

    def _end_reason(self, order: Order | None) -> str:
        """An instance that left during its notice was interrupted; one whose raylet crashed was not idle."""
        reason = order.reason if order is not None and order.kind == "terminate" else record_file.UNKNOWN
        if reason == record_file.IDLE and self._record.notice_at:
            return record_file.WITH_NOTICE
        if reason == record_file.IDLE and any(child.poll() not in (None, 0) for child in self._children[:1]):
            return record_file.UNKNOWN
        return reason

    def _start_processes(self) -> None:
        self._children = [self._start_process("ray"), self._start_process("watcher")]

    def _start_process(self, name: str) -> subprocess.Popen[bytes]:
        watcher = (sys.executable, "-m", "orchestrator.cluster.watcher", "--address", self._cluster.ray_address)
        with self._log(name).open("ab") as log:
            return subprocess.Popen(
                watcher if name == "watcher" else node_command(self._record, self._cluster),
                env=node_environment(self._record, self._state, self._cluster, os.environ),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _note_ready(self) -> None:
        if self._children and not self._record.ready_at and STARTED_LINE in self._log("ray").read_bytes():
            self._update(ready_at=to_iso(utc_now()))

    def _restart_ray(self) -> str:
        """Starts Ray again when it did not come up; returns the end reason once that is hopeless.

        Ray gives a raylet 30 s to register, which a busy machine may take. Once it was up, an exit is a crash: the
        autoscaler sees that and answers.
        """
        if not self._children or self._record.ready_at or self._children[0].poll() is None:
            return ""
        if self._starts == START_ATTEMPTS:
            return record_file.UNKNOWN
        self._starts += 1
        # The first id may have been registered and be dead to Ray.
        self._update(ray_node_id=secrets.token_hex(28))
        self._children[0] = self._start_process("ray")
        return ""

    def _orphaned(self) -> bool:
        """The cluster was taken down, or another one was started, without telling this instance."""
        cluster = self._state.load()
        return cluster is None or cluster.name != self._record.cluster

    def _log(self, name: str) -> Path:
        return self._state.logs / f"{self._record.instance_id}-{name}.log"

    def _update(self, **changes: object) -> None:
        updated: InstanceRecord = replace(self._record, **changes)  # type: ignore[arg-type]
        self._record = updated
        record_file.save_record(self._state, updated)

    def _on_signal(self, _number: int, _frame: object) -> None:
        self._stop_requested = True


def main() -> None:
    """Entry point."""
    Machine(StateDir(Path(sys.argv[1])), sys.argv[2]).run()


if __name__ == "__main__":
    main()
