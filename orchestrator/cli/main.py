"""The `orchestrator` command: finds the verb, and turns named errors into one line and an exit code."""

import errno
import io
import os
import signal
import sys
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path

import typer

from orchestrator.cli.signals import Heard, listening
from orchestrator.model.error import OrchestratorError

VERBS = {
    "validate": "orchestrator.cli.validate:validate",
    "plan": "orchestrator.cli.plan:plan",
    "advise": "orchestrator.cli.advise:advise",
    "offers": "orchestrator.cli.offers:app",
    "up": "orchestrator.cli.up:up",
    "down": "orchestrator.cli.down:down",
    "env": "orchestrator.cli.env:env",
    "apply": "orchestrator.cli.apply:apply",
    "status": "orchestrator.cli.status:status",
    "events": "orchestrator.cli.events:events",
    "cost": "orchestrator.cli.cost:cost",
    "interrupt": "orchestrator.cli.interrupt:interrupt",
    "cluster-yaml": "orchestrator.cli.cluster_yaml:cluster_yaml",
    "demo": "orchestrator.cli.demo.command:demo",
}
"""In the order of --help. Only the module of the verb that was asked for is imported: `validate` needs no Ray."""

CLEANS_UP = frozenset({"up", "down", "demo"})
"""Verbs that end processes when a signal stops them; all others just end."""
INTERRUPTED = 130
"""Typer's exit code after a KeyboardInterrupt."""
WRITE_FAULTS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})
"""What a write meets; without a file's name in the error it is almost always the output that was written."""


def command_line(arguments: list[str]) -> typer.Typer:
    """The application with the verb that `arguments` begin with, or with all of them."""
    app = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        help="Fine-tuning, nightly batch inference and serving on one Ray cluster, each on the cheapest hardware.",
    )
    app.callback()(lambda: None)  # a lone verb would otherwise become the application itself
    asked = arguments[:1]
    for name in asked if asked and asked[0] in VERBS else VERBS:
        module, attribute = VERBS[name].split(":")
        verb = getattr(import_module(module), attribute)
        if isinstance(verb, typer.Typer):
            app.add_typer(verb, name=name)
        else:
            app.command(name)(verb)
    return app


def main() -> None:
    """Entry point: exit 0 ok, 2 bad input, 1 failed at run time, 128 + signal; no traceback for a named error."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="replace")  # a terminal that lacks a character shows "?" in its place
    heard = Heard()
    with listening(heard) if CLEANS_UP & {*sys.argv[1:2]} else nullcontext():
        code = _run(sys.argv[1:], heard)
    sys.exit(code)


def _run(arguments: list[str], heard: Heard) -> int:
    """Runs the verb; whatever ends it becomes at most one line and an exit code."""
    try:
        try:
            command_line(arguments)()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # else a full disk would show only while the interpreter ends
    except SystemExit as ended:
        if ended.code != INTERRUPTED:
            return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        return _stopped(heard)
    except KeyboardInterrupt:
        return _stopped(heard)
    except OrchestratorError as error:
        _say(f"error: {error}")
        return error.exit_code
    except OSError as error:
        return _failed(error, heard)
    return 0


def _stopped(heard: Heard) -> int:
    _say(f"stopped by {signal.Signals(heard.first or signal.SIGINT).name}.")
    return heard.exit_code


def _failed(error: OSError, heard: Heard) -> int:
    if heard.first is not None:  # a terminal that is gone sends SIGHUP and takes no output
        _discard_output()
        return _stopped(heard)
    unwritten = _discard_output() or (error.filename is None and error.errno in WRITE_FAULTS)
    if isinstance(error, BrokenPipeError):
        pass  # whoever read our output has seen enough
    elif unwritten:
        _say(f"error: cannot write: {error.strerror}. Free some space, or write elsewhere.")
    elif isinstance(error, FileNotFoundError) and error.filename is None and not _has_working_directory():
        _say("error: the working directory does not exist any more. Change to one that does.")
    else:
        where = f"{error.filename}: " if error.filename else ""
        _say(f"error: {where}{error.strerror or error}.")
    return 1


def _discard_output() -> bool:
    """Whether standard output cannot be written; then what waits in its buffer goes nowhere."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        _to_devnull(1)
        return True
    return False


def _say(line: str) -> None:
    """One line on standard error; the exit code counts even where nobody can read it."""
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        _to_devnull(2)


def _to_devnull(descriptor: int) -> None:
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, descriptor)
    os.close(devnull)


def _has_working_directory() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True


if __name__ == "__main__":
    main()
