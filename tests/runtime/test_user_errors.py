"""Errors of the user's code are tried once more and then end the run; other errors are Ray's to retry."""

import pytest

from orchestrator.runtime.user_errors import Guarded, user_error


def failing(error):
    calls = []

    def loop(config):
        calls.append(config)
        raise error

    return loop, calls


def attempt(guarded):
    try:
        return guarded({"step": 1})
    except Exception as error:  # noqa: BLE001 - whatever the loop raised
        return type(error)


@pytest.mark.parametrize("error", [AttributeError("backwards"), KeyError("x"), ValueError("shape"), AssertionError()])
def test_the_same_code_error_twice_ends_the_run(tmp_path, error):
    loop, calls = failing(error)
    guarded = Guarded(loop, str(tmp_path / "user-error.json"))
    assert [attempt(guarded), attempt(guarded)] == [type(error)] * 2
    returned = attempt(guarded)
    assert len(calls) == 2, "the third try does not run it"
    assert type(error).__name__ in user_error(returned) and "in loop" in user_error(returned)


@pytest.mark.parametrize("error", [RuntimeError("Connection closed by peer"), OSError("disk"), MemoryError()])
def test_what_a_lost_node_may_raise_is_retried_as_ever(tmp_path, error):
    loop, calls = failing(error)
    guarded = Guarded(loop, str(tmp_path / "user-error.json"))
    assert [attempt(guarded) for _ in range(5)] == [type(error)] * 5 and len(calls) == 5
    assert not (tmp_path / "user-error.json").exists()


def test_another_error_is_counted_anew(tmp_path):
    location = str(tmp_path / "user-error.json")
    for error in (TypeError("a"), TypeError("b"), TypeError("b")):
        assert attempt(Guarded(failing(error)[0], location)) is TypeError
    assert "TypeError: b" in user_error(attempt(Guarded(failing(TypeError("b"))[0], location)))


def test_what_a_loop_returns_is_handed_on(tmp_path):
    guarded = Guarded(lambda config: {"loss": config["step"]}, str(tmp_path / "user-error.json"))
    assert attempt(guarded) == {"loss": 1} and user_error(attempt(guarded)) is None
    assert user_error(None) is None
