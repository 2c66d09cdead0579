"""What the commands write must never replace or empty what is not theirs."""

import os
import shutil
from pathlib import Path

import pytest

from orchestrator.cli.demo.command import MARKER, MARKER_TEXT, check_ours
from orchestrator.cluster.state import StateDir
from orchestrator.model.error import InputError

CATALOG = Path("jobs/catalog.yaml")


@pytest.mark.parametrize(
    "files",
    [{"thesis.txt": "precious"}, {"catalog.yaml": "version: 1"}, {MARKER: "something else"}],
    ids=["anything", "a-catalog", "another-marker"],
)
def test_the_demo_refuses_a_folder_that_it_did_not_make(tmp_path, files):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match="was not made by the demo"):
        check_ours(StateDir(tmp_path))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == files


def test_the_demo_takes_new_empty_and_its_own_folders(tmp_path):
    check_ours(StateDir(tmp_path / "new"))
    check_ours(StateDir(tmp_path))
    (tmp_path / MARKER).write_text(MARKER_TEXT)
    (tmp_path / "ledger.db").write_text("old")
    check_ours(StateDir(tmp_path))


def test_the_demo_reads_its_catalog_before_it_empties_anything(run_command, tmp_path):
    (tmp_path / MARKER).write_text(MARKER_TEXT)
    (tmp_path / "ledger.db").write_text("old")
    code, _, err = run_command("demo", "--catalog", str(tmp_path / "none.yaml"), "--state-dir", str(tmp_path))
    assert code == 2 and "cannot be read" in err and (tmp_path / "ledger.db").read_text() == "old"


def test_a_file_as_the_demos_folder(tmp_path):
    (tmp_path / "file").write_text("precious")
    with pytest.raises(InputError):
        check_ours(StateDir(tmp_path / "file"))


def test_cluster_yaml_replaces_only_what_it_made(run_command, tmp_path):
    mine = tmp_path / "mine.yaml"
    shutil.copy(CATALOG, mine)
    before = mine.read_bytes()
    for target in (mine, tmp_path, Path("/dev/full")):
        code, _, err = run_command("cluster-yaml", str(mine), "--output", str(target))
        assert code == 2 and "exists and was not made by this command" in err, target
    assert mine.read_bytes() == before and not Path("/dev/full").is_file()
    code, _, err = run_command("cluster-yaml", str(mine), "--output", str(tmp_path / "no" / "x.yaml"))
    assert code == 2 and "folder does not exist" in err and not (tmp_path / "no").exists()
    for _ in range(2):
        assert run_command("cluster-yaml", str(mine), "--output", str(tmp_path / "cluster.yaml"))[0] == 0


def test_a_catalog_must_be_a_regular_file(run_command, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    code, out, _ = run_command("validate", str(tmp_path / "fifo"))
    assert code == 2 and "no regular file" in out
