"""Calls that may hang: given up in time, refused while one hangs, and taken again afterwards."""

import threading
import time

import pytest

from orchestrator.control import ray_world
from orchestrator.control.deadline import DeadlineThread
from orchestrator.control.ray_world import RayWorld
from orchestrator.control.world import UnreachableError


def test_results_and_errors_come_back() -> None:
    calls = DeadlineThread("test", 20)
    assert calls.run(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        calls.run(lambda: 1 / 0)
    with pytest.raises(TimeoutError, match="its own"):
        calls.run(lambda: (_ for _ in ()).throw(TimeoutError("its own")).__next__())
    assert calls.run(lambda: 8) == 8, "a call's own time-out is no hang"


def test_a_call_that_hangs_is_given_up_and_no_second_one_begun() -> None:
    calls, free, begun = DeadlineThread("test", 0.1), threading.Event(), []
    with pytest.raises(TimeoutError, match=r"within 0\.1 s"):
        calls.run(lambda: free.wait(60))
    with pytest.raises(TimeoutError, match="earlier call"):
        calls.run(lambda: begun.append(1))
    assert begun == []
    free.set()
    for _ in range(200):
        try:
            assert calls.run(lambda: 9) == 9
            return
        except TimeoutError:
            time.sleep(0.05)
    raise AssertionError("it is never taken again")


def test_a_gcs_that_hangs_is_unreachable(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    """As Ray's client does when the head is gone: it waits for it, whatever time-out the call was given."""
    free = threading.Event()
    monkeypatch.setattr(ray_world, "GCS_DEADLINE_S", 0.1)
    monkeypatch.setattr(ray_world, "GcsClient", lambda **_: free.wait(60))
    world = RayWorld(
        ray_address="127.0.0.1:1", dashboard_url="http://127.0.0.1:2", token="", packages=tmp_path,
        intervals=lambda: (), offer_nodes=lambda _: None,
    )  # fmt: skip
    with pytest.raises(UnreachableError, match=r"127\.0\.0\.1:1 does not answer: no answer within 0\.1 s"):
        world.view()
    with pytest.raises(UnreachableError, match="earlier call"):
        world.view()
    free.set()
