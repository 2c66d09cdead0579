"""The loop: tick after tick until told to stop; one tick that fails never ends it."""

import logging
import threading
from datetime import datetime

from orchestrator.control.controller import Controller
from orchestrator.control.world import UnreachableError
from orchestrator.ledger import events
from orchestrator.model.error import OrchestratorError
from orchestrator.model.event import Event
from orchestrator.model.instant import to_iso

LOG = logging.getLogger("orchestrator.control")

TELL_AFTER = 3
"""Failed ticks in a row that are worth an event."""


def run_loop(controller: Controller, stop: threading.Event) -> None:
    """Tick every `tick_s` seconds until `stop` is set.

    A trouble is told once it has lasted for TELL_AFTER ticks, and again when it is over: Ray's dashboard drops the
    first request about Serve, for example.
    """
    failed = 0
    while not stop.wait(controller.settings.tick_s):
        found = ""
        try:
            controller.tick()
        except UnreachableError as error:
            found = str(error)
        except OrchestratorError as error:
            LOG.error("tick: %s", error)
            found = str(error)
        except Exception as error:
            LOG.exception("tick failed")
            found = f"{type(error).__name__}: {error}"
        if not found and failed >= TELL_AFTER:
            _tell(controller, controller.clock(), "")
        failed = failed + 1 if found else 0
        if failed == TELL_AFTER:
            _tell(controller, controller.clock(), found)


def _tell(controller: Controller, now: datetime, trouble: str) -> None:
    kind, message = ("trouble", trouble) if trouble else ("recovered", "the controller sees the cluster again")
    try:
        with controller.database.write() as connection:
            events.append(connection, Event(at=to_iso(now), kind=kind, message=message))
    except OrchestratorError as error:
        LOG.error("%s could not be recorded: %s", kind, error)
