"""Indexing, checking and cutting the input of a batch."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.model.error import InputError
from orchestrator.runtime.batch_input import InputIndex, cut, index_input, input_files, read_shard


def write(path: Path, ids: list[object], row_group_size: int = 7, **columns: list[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table({"id": ids, "text": [f"text of {each}" for each in ids], **columns})
    pq.write_table(table, path, row_group_size=row_group_size)
    return path


def index_of(*sizes: int) -> InputIndex:
    counts = iter(range(10_000))
    arrays = tuple(pa.array([f"id-{next(counts)}" for _ in range(size)], pa.string()) for size in sizes)
    return InputIndex(files=tuple(f"/in/{number}.parquet" for number in range(len(sizes))), ids=arrays)


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        pytest.param("a.parquet", ["a.parquet"], id="file"),
        pytest.param("", ["a.parquet", "b.parquet"], id="folder"),
        pytest.param("b*.parquet", ["b.parquet"], id="glob"),
        pytest.param("day=*/c.parquet", ["day=1/c.parquet", "day=2/c.parquet"], id="glob-in-folder-names"),
    ],
)
def test_locations(tmp_path: Path, location: str, expected: list[str]) -> None:
    for name in ("b.parquet", "a.parquet", "day=1/c.parquet", "day=2/c.parquet"):
        write(tmp_path / name, ["x"])
    (tmp_path / "notes.txt").write_text("not data")
    assert [str(Path(file).relative_to(tmp_path)) for file in input_files(str(tmp_path / location))] == expected


def test_no_file_is_an_error_that_names_the_place(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no Parquet file"):
        index_input(str(tmp_path / "date=2026-01-01"), "id", [])


def test_missing_columns_are_named_with_those_there(tmp_path: Path) -> None:
    write(tmp_path / "in.parquet", ["a"])
    with pytest.raises(InputError, match=r"no column title, body; it has id, text"):
        index_input(str(tmp_path), "id", ["title", "text", "body"])


def test_ids_must_be_unique_over_all_files(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", ["one", "two", "three"])
    write(tmp_path / "b.parquet", ["four", "two", "one"])
    with pytest.raises(InputError, match=r"2 ids stand more than once in id, for example (one, two|two, one)"):
        index_input(str(tmp_path), "id", [])


def test_every_row_needs_an_id(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", ["one", None, None])
    with pytest.raises(InputError, match="2 rows have no id"):
        index_input(str(tmp_path), "id", [])


def test_an_input_without_rows_has_no_shards(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": pa.array([], pa.string())}), tmp_path / "empty.parquet")
    index = index_input(str(tmp_path), "id", [])
    assert index.rows == 0
    assert cut(index, "") == []


def test_shards_read_back_exactly_their_rows(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", list(range(50)))
    write(tmp_path / "b.parquet", list(range(50, 53)))
    write(tmp_path / "c.parquet", list(range(53, 100)), row_group_size=100)
    shards = cut(index_input(str(tmp_path), "id", ["text"]), "settings")
    rows = [read_shard(shard, ["id", "text"]) for shard in shards]
    assert [len(each) for each in rows] == [shard.rows for shard in shards] == [32, 32, 32, 4]
    assert [row["id"] for each in rows for row in each] == list(range(100))
    assert rows[1][0] == {"id": 32, "text": "text of 32"}


@given(st.lists(st.integers(min_value=0, max_value=200), min_size=1, max_size=6), st.text(max_size=5))
def test_cutting_covers_every_row_once_and_is_repeatable(sizes: list[int], settings: str) -> None:
    index = index_of(*sizes)
    shards = cut(index, settings)
    taken = [(piece.file, row) for shard in shards for piece in shard.pieces for row in range(piece.start, piece.stop)]
    assert taken == [(file, row) for file, ids in zip(index.files, index.ids, strict=True) for row in range(len(ids))]
    assert [shard.name for shard in cut(index, settings)] == [shard.name for shard in shards]
    assert len({shard.name for shard in shards}) == len(shards)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(10, 1, id="few-rows-one-shard"),
        pytest.param(400, 13, id="small-shards"),
        pytest.param(64 * 100, 64, id="shards-grow"),
        pytest.param(64 * 4096 + 1, 65, id="but-not-beyond-the-limit"),
    ],
)
def test_number_of_shards(rows: int, expected: int) -> None:
    ids = pa.array([str(number) for number in range(rows)])
    assert len(cut(InputIndex(files=("/in.parquet",), ids=(ids,)), "")) == expected


def test_other_settings_or_ids_give_other_names() -> None:
    names = {shard.name for shard in cut(index_of(100), "prompt 1")}
    assert names.isdisjoint({shard.name for shard in cut(index_of(100), "prompt 2")})
    shifted = InputIndex(files=("/in/0.parquet",), ids=(pa.array([f"id-{each}" for each in range(1, 101)]),))
    assert names.isdisjoint({shard.name for shard in cut(shifted, "prompt 1")})
    assert shifted.checksum != index_of(100).checksum
