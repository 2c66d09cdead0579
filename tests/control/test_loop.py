"""The loop goes on whatever a tick meets, and says so once."""

import threading
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.control.loop import TELL_AFTER, run_loop
from orchestrator.ledger import events

Bench = Any


class Stop(threading.Event):
    """Set after so many waits; `before` runs ahead of each tick."""

    def __init__(self, ticks: int, before: Any) -> None:
        super().__init__()
        self.left = ticks
        self.before = before

    def wait(self, timeout: float | None = None) -> bool:
        self.left -= 1
        if self.left < 0:
            return True
        self.before()
        return False


def told(bench: Bench) -> list[str]:
    with bench.controller.database.read() as connection:
        return [event.kind for event in events.of_kinds(connection, "trouble", "recovered")]


@pytest.mark.parametrize("fault", ["away", "bug"])
def test_a_lasting_trouble_is_told_once_and_its_end(bench: Bench, fault: str) -> None:
    seen = [True] * (TELL_AFTER + 3) + [False, False] + [True] * (TELL_AFTER - 1) + [False]
    script = iter(seen)
    honest = bench.world.view

    def before() -> None:
        broken = next(script)
        bench.world.away = broken and fault == "away"
        bench.world.view = (lambda: 1 / 0) if broken and fault == "bug" else honest

    run_loop(bench.controller, Stop(len(seen), before))
    assert told(bench) == ["trouble", "recovered"], "shorter troubles are not worth a word"


def test_it_ticks_as_often_as_told(bench: Bench) -> None:
    bench.controller.settings = replace(bench.controller.settings, tick_s=0.01)
    stop = threading.Event()
    thread = threading.Thread(target=run_loop, args=(bench.controller, stop))
    thread.start()
    deadline = threading.Event()
    for _ in range(400):
        if bench.controller.ticked_at is not None:
            break
        deadline.wait(0.05)
    stop.set()
    thread.join(10)
    assert bench.controller.ticked_at is not None
    assert not thread.is_alive()
