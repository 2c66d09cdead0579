"""Commits that are whole or absent, the manifest as the end, and the check of ids."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.runtime.batch_input import Piece, Shard
from orchestrator.runtime.batch_log import BatchCheck, ShardLog, ShardStat, verify_output


def shard(number: int = 0, digest: str = "abc") -> Shard:
    return Shard(number=number, rows=3, digest=digest, pieces=(Piece(file="/in.parquet", start=0, stop=3),))


def stat_of(one: Shard, rows: int = 2, errors: int = 1) -> ShardStat:
    return ShardStat(shard=one.name, rows=rows, errors=errors, prompt_tokens=9, output_tokens=4, seconds=0.5, attempt=2)


def answers(*ids: str) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.string()), "completion": pa.array(["x"] * len(ids), pa.string())})


def failures(*ids: str) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.string()), "reason": pa.array(["context"] * len(ids), pa.string())})


def commit(log: ShardLog, one: Shard, good: tuple[str, ...], bad: tuple[str, ...] = ()) -> None:
    log.commit(one, answers(*good), failures(*bad), stat_of(one, len(good), len(bad)))


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def input_of(tmp_path: Path):
    def write(*ids: str) -> str:
        path = tmp_path / "input.parquet"
        pq.write_table(pa.table({"id": list(ids)}), path)
        return str(path)

    return write


def test_a_shard_is_done_once_its_file_is_there(tmp_path: Path) -> None:
    log = ShardLog(str(tmp_path / "out"))
    assert log.stat(shard()) is None
    commit(log, shard(), ("a", "b"), ("c",))
    assert log.stat(shard()) == stat_of(shard())
    assert log.stat(shard(digest="other")) is None
    assert files(tmp_path / "out") == ["errors/part-00000-abc.parquet", "part-00000-abc.parquet"]


def test_committing_twice_leaves_one(tmp_path: Path, input_of) -> None:
    log = ShardLog(str(tmp_path / "out"))
    commit(log, shard(), ("a", "b"))
    commit(log, shard(), ("a", "b"))
    assert verify_output(log.output, input_of("a", "b")).ok


def test_what_a_killed_writer_left_is_no_result(tmp_path: Path, input_of) -> None:
    log = ShardLog(str(tmp_path / "out"))
    commit(log, shard(), ("a", "b"))
    (tmp_path / "out" / ".part-00001-abc.parquet.1234").write_bytes(b"PAR1 half")
    assert log.stat(shard(1)) is None
    assert verify_output(log.output, input_of("a", "b")).ok
    assert log.drop_others([shard()]) == 1
    assert files(tmp_path / "out") == ["part-00000-abc.parquet"]


def test_results_of_other_settings_are_dropped(tmp_path: Path) -> None:
    log = ShardLog(str(tmp_path / "out"))
    commit(log, shard(digest="old"), ("a",), ("b",))
    commit(log, shard(digest="new"), ("a",))
    assert log.drop_others([shard(digest="new")]) == 2
    assert files(tmp_path / "out") == ["part-00000-new.parquet"]


def test_the_manifest_ends_the_night_and_clearing_takes_it_first(tmp_path: Path) -> None:
    log = ShardLog(str(tmp_path / "out"))
    assert log.manifest() is None
    commit(log, shard(), ("a",))
    log.finish({"rows": 1})
    assert log.manifest() == {"rows": 1}
    log.clear()
    assert log.manifest() is None
    assert files(tmp_path / "out") == []


@pytest.mark.parametrize(
    ("good", "bad", "expected"),
    [
        pytest.param(
            ("a", "b"), ("c",),
            BatchCheck(rows_in=3, rows_out=2, rows_failed=1, missing=(), doubled=(), unexpected=()), id="complete",
        ),
        pytest.param(
            ("a",), ("c",),
            BatchCheck(rows_in=3, rows_out=1, rows_failed=1, missing=("b",), doubled=(), unexpected=()), id="lost",
        ),
        pytest.param(
            ("a", "b", "b"), ("c",),
            BatchCheck(rows_in=3, rows_out=3, rows_failed=1, missing=(), doubled=("b",), unexpected=()), id="doubled",
        ),
        pytest.param(
            ("a", "b", "c"), ("c",),
            BatchCheck(rows_in=3, rows_out=3, rows_failed=1, missing=(), doubled=("c",), unexpected=()),
            id="answered-and-failed",
        ),
        pytest.param(
            ("a", "b", "c", "x"), (),
            BatchCheck(rows_in=3, rows_out=4, rows_failed=0, missing=(), doubled=(), unexpected=("x",)), id="foreign",
        ),
    ],
)  # fmt: skip
def test_the_check_finds_what_is_wrong(
    tmp_path: Path, input_of, good: tuple[str, ...], bad: tuple[str, ...], expected: BatchCheck
) -> None:
    log = ShardLog(str(tmp_path / "out"))
    commit(log, shard(), good, bad)
    found = verify_output(log.output, input_of("a", "b", "c"))
    assert found == expected
    assert found.ok is (expected.missing == expected.doubled == expected.unexpected == ())


def test_an_output_that_is_not_there_misses_everything(tmp_path: Path, input_of) -> None:
    assert verify_output(str(tmp_path / "nowhere"), input_of("a", "b")).missing == ("a", "b")
