"""Faults of the operating system end a command with one line on standard error, never with a traceback."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

Command = Callable[..., tuple[int, str, str]]
REPOSITORY = Path(__file__).parents[2]
CATALOG = str(REPOSITORY / "jobs" / "catalog.yaml")


def in_shell(script: str, cwd: Path = REPOSITORY, **environment: str) -> subprocess.CompletedProcess[str]:
    """The script, in which `orchestrator` is this project's."""
    return subprocess.run(
        ["bash", "-c", f'orchestrator() {{ "{sys.executable}" -m orchestrator.cli.main "$@"; }}; {script}'],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": "", **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "arguments", ["validate jobs/catalog.yaml", "offers list", "down --state-dir /tmp/none", "--help"]
)
def test_a_full_disk_is_one_line(arguments: str, unbuffered: str) -> None:
    done = in_shell(f"orchestrator {arguments} > /dev/full", PYTHONUNBUFFERED=unbuffered)
    said = "error: cannot write: No space left on device. Free some space, or write elsewhere.\n"
    assert (done.returncode, done.stderr) == (1, said)


def test_nobody_to_tell_still_leaves_the_exit_code() -> None:
    assert in_shell("orchestrator validate no.yaml > /dev/full 2> /dev/full").returncode == 1
    assert in_shell("orchestrator env --state-dir jobs/catalog.yaml 2> /dev/full").returncode == 2


def test_a_reader_that_has_seen_enough_ends_the_command_quietly() -> None:
    done = in_shell("orchestrator offers list | true; echo ${PIPESTATUS[0]}")
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_what_the_terminal_lacks_is_replaced() -> None:
    done = in_shell("orchestrator validate $'\\u4e2d.yaml'", PYTHONIOENCODING="latin-1")
    assert done.returncode == 2
    assert done.stdout.startswith("?.yaml:")
    assert done.stderr == ""


def test_a_working_directory_that_is_gone_is_named(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    for verb in ("status", "down", "env", f"up {CATALOG}"):
        done = in_shell(f"mkdir -p '{gone}'; cd '{gone}'; rmdir '{gone}'; orchestrator {verb}")
        said = "error: the working directory does not exist any more. Change to one that does.\n"
        assert (done.returncode, done.stderr) == (1, said), verb


VERBS = [["status"], ["down"], ["events"], ["cost", "report"], ["env"], ["apply", CATALOG], ["interrupt", "i-1"],
         ["up", CATALOG]]  # fmt: skip


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_a_file_cannot_be_the_state_directory(run_command: Command, tmp_path: Path, verb: list[str]) -> None:
    file = tmp_path / "file"
    file.touch()
    code, _, errors = run_command(*verb, "--state-dir", str(file / "below"))
    assert code == 2
    assert errors == (
        f"error: {file}/below cannot be the state directory: {file} is not a directory. Give another --state-dir.\n"
    )


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("~nosuchuser/x", "error: ~nosuchuser/x cannot be the state directory: Could not determine home directory."),
        ("/proc/x", "error: the state directory /proc/x cannot be made: No such file or directory."),
    ],
)
def test_a_state_directory_that_cannot_be_is_refused(run_command: Command, where: str, why: str) -> None:
    code, _, errors = run_command("up", CATALOG, "--state-dir", where)
    assert (code, errors) == (2, f"{why} Give another --state-dir.\n")


def test_any_other_fault_names_its_path(run_command: Command, tmp_path: Path) -> None:
    (tmp_path / "cluster.json").mkdir()
    code, _, errors = run_command("env", "--state-dir", str(tmp_path))
    assert (code, errors) == (1, f"error: {tmp_path}/cluster.json: Is a directory.\n")
