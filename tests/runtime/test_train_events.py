"""What the event log says of a run: each kind once, with what an interruption cost."""

import pytest

from orchestrator.runtime import train_events
from orchestrator.runtime.train_events import PROGRESS_S, TrainEvents


@pytest.fixture
def events(monkeypatch):
    """The callback, and the list of (kind, message, data) that reaches the controller."""
    callback, told = TrainEvents("http://nowhere", "", "run-1"), []
    monkeypatch.setattr(callback, "_report", lambda kind, message, data: told.append((kind, message, data)))
    monkeypatch.setattr(train_events.time, "time", lambda: 1003.5)
    return callback, told


def report(callback, event, step, at, **more):
    callback.after_report(None, [{"event": event, "step": step, "total_steps": 100, "at": at, **more}], None)


def test_tells_what_an_interruption_cost(events):
    callback, told = events
    report(callback, "started", 0, 1000.0)
    report(callback, "checkpoint", 10, 1003.0, reason="interval", began_at=1003.0)
    report(callback, "progress", 14, 1005.0, loss=1.5)
    callback.after_exception(None, {1: RuntimeError("x"), 0: RuntimeError("actor died")})
    callback.after_exception(None, {0: RuntimeError("actor died")})
    report(callback, "resumed", 10, 1025.0, saved_at=1003.0)
    assert [kind for kind, _, _ in told] == ["started", "checkpoint", "interrupted", "resumed"]
    assert told[1][1] == "saved step 10/100 (interval)" and told[1][2]["commit_s"] == 0.5
    assert told[2][2] == {"step": 14, "reason": "actor died"}
    _, message, data = told[3]
    assert message == "resumed at step 10/100, 4 steps lost, 20 s down"
    assert (data["step"], data["lost_steps"], data["lost_s"], data["down_s"]) == (10, 4, 2.0, 20.0)


def test_nothing_is_lost_when_the_last_checkpoint_has_every_step(events):
    callback, told = events
    report(callback, "checkpoint", 20, 1003.0, reason="deadline", began_at=1003.0)
    report(callback, "resumed", 20, 1010.0, saved_at=1002.0)
    assert (told[-1][2]["lost_steps"], told[-1][2]["lost_s"], told[-1][2]["down_s"]) == (0, 0.0, 7.0)


def test_a_new_driver_does_not_guess_what_was_lost(events):
    callback, told = events
    report(callback, "resumed", 20, 1010.0, saved_at=1002.0)
    assert told == [("resumed", "resumed at step 20/100", {"step": 20, "total_steps": 100})]


def test_every_interruption_is_told_again(events):
    callback, told = events
    for at in (1000.0, 2000.0):
        callback.after_exception(None, {0: RuntimeError("gone")})
        report(callback, "resumed", 5, at, saved_at=at)
    assert [kind for kind, _, _ in told] == ["interrupted", "resumed"] * 2


def test_progress_is_thinned_out(events):
    callback, told = events
    for second in range(25):
        report(callback, "progress", second, 1000.0 + second, loss=1.0)
    assert [data["step"] for _, _, data in told] == [0, PROGRESS_S, 2 * PROGRESS_S]
    assert told[0][1] == "step 0/100, loss 1.000"


def test_the_end_of_the_loop_is_not_the_end_of_the_run(events):
    callback, told = events
    report(callback, "finished", 100, 1000.0, accuracy_after=0.9)
    data = {"step": 100, "total_steps": 100, "accuracy_after": 0.9}
    assert told == [("progress", "all steps done, step 100/100", data)]


def test_a_users_own_report_is_left_alone(events):
    callback, told = events
    callback.after_report(None, [{"my_metric": 1}], None)
    assert told == []


def test_the_callback_can_travel_to_another_process(events):
    import pickle

    fresh = TrainEvents("http://nowhere", "/token", "run-1")
    assert vars(pickle.loads(pickle.dumps(fresh))) == vars(fresh)
