"""Messages wait while they cannot be delivered, in order, up to a bound; and nobody is held up."""

import threading
import time

import pytest

from orchestrator.runtime import outbox
from orchestrator.runtime.outbox import Outbox, Undelivered


class Receiver:
    """Refuses the first `failures` deliveries."""

    def __init__(self, failures=0):
        self.failures = failures
        self.got = []
        self.tries = 0

    def __call__(self, message):
        self.tries += 1
        if self.tries <= self.failures:
            raise Undelivered("away")
        self.got.append(message)


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(outbox, "FIRST_WAIT_S", 0.01)
    monkeypatch.setattr(outbox, "LONGEST_WAIT_S", 0.02)


@pytest.mark.parametrize("failures", [0, 1, 5])
def test_delivers_everything_once_and_in_order(failures):
    receiver = Receiver(failures)
    box = Outbox(receiver)
    for number in range(20):
        box.put(number)
    box.close(10)
    assert receiver.got == list(range(20))
    assert receiver.tries == 20 + failures


def test_putting_does_not_wait_for_delivery():
    released = threading.Event()
    box = Outbox(lambda message: released.wait(10))
    start_s = time.monotonic()
    for number in range(100):
        box.put(number)
    assert time.monotonic() - start_s < 1
    released.set()
    box.close(10)


def test_a_full_box_drops_the_oldest(caplog):
    receiver = Receiver(failures=10**9)
    box = Outbox(receiver, capacity=3)
    for number in range(10):
        box.put(number)
    receiver.failures = 0
    box.close(10)
    assert receiver.got == [7, 8, 9]
    assert "7 events could not be delivered" in caplog.text


def test_closing_gives_up_in_time_and_says_so(caplog):
    box = Outbox(Receiver(failures=10**9))
    box.put("lost")
    start_s = time.monotonic()
    box.close(0.2)
    assert time.monotonic() - start_s < 2
    assert "1 events could not be delivered" in caplog.text


def test_closing_an_unused_box_does_nothing(caplog):
    Outbox(Receiver()).close(1)
    assert not caplog.text
