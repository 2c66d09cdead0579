"""The input of a batch: which rows there are, checked, and cut into shards that are the same on every attempt."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from orchestrator.model.error import InputError
from orchestrator.runtime import storage

MIN_SHARD_ROWS, MAX_SHARD_ROWS, WANTED_SHARDS = 32, 4096, 64
"""A shard is what one kill can cost; beyond 64 of them they grow rather than multiply, up to 4,096 rows."""

_EXAMPLES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Rows `start` to `stop` (exclusive) of one file."""

    file: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """A run of consecutive input rows that is committed as a whole. `digest` names its ids and the settings."""

    number: int
    rows: int
    digest: str
    pieces: tuple[Piece, ...]

    @property
    def name(self) -> str:
        """File name of its result; the same shard has the same name on every attempt."""
        return f"part-{self.number:05d}-{self.digest}.parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputIndex:
    """Files in name order with their ids in row order; `checksum` covers all ids in that order."""

    files: tuple[str, ...]
    ids: tuple[pa.Array, ...]

    @property
    def rows(self) -> int:
        """Rows in all files."""
        return sum(len(ids) for ids in self.ids)

    @property
    def checksum(self) -> str:
        """SHA-256 of all ids in order."""
        return _digest(self.ids, "")


def index_input(location: str, id_column: str, columns: Sequence[str]) -> InputIndex:
    """Read the ids of all files behind a path, folder, glob or URI, and refuse what would break one row per id.

    Raises InputError for no file, a missing column, an empty id or an id that stands twice.
    """
    files = input_files(location)
    ids = []
    for file in files:
        filesystem, path = storage.filesystem(file)
        found = pq.read_schema(path, filesystem=filesystem).names
        missing = [column for column in (id_column, *columns) if column not in found]
        if missing:
            raise InputError(
                f"{file}: no column {', '.join(missing)};", f"it has {', '.join(found)}. Change the job or the data."
            )
        read = pq.read_table(path, columns=[id_column], filesystem=filesystem)[id_column]
        ids.append(pc.cast(read, pa.string()).combine_chunks())
    _refuse_bad_ids(location, id_column, ids)
    return InputIndex(files=tuple(files), ids=tuple(ids))


def input_files(location: str) -> list[str]:
    """Parquet files behind a file, folder or glob, local or s3://; sorted by path."""
    found = [file for file in storage.expand(location) if file.endswith(".parquet")]
    if not found:
        raise InputError(f"input {location} has no Parquet file;", "check the path and, with {date} in it, the date.")
    return found


def cut(index: InputIndex, settings: str) -> list[Shard]:
    """Consecutive shards of equal size. `settings` stands for whatever else decides the answers (prompt, model)."""
    size = min(MAX_SHARD_ROWS, max(MIN_SHARD_ROWS, -(-index.rows // WANTED_SHARDS)))
    shards = []
    for number, start in enumerate(range(0, index.rows, size)):
        stop = min(start + size, index.rows)
        pieces = tuple(_pieces(index, start, stop))
        ids = [_ids_of(index, piece) for piece in pieces]
        shards.append(Shard(number=number, rows=stop - start, digest=_digest(ids, settings)[:12], pieces=pieces))
    return shards


def read_shard(shard: Shard, columns: Sequence[str]) -> list[dict[str, object]]:
    """The rows of a shard with these columns, where the file has them, reading only the row groups that hold them."""
    rows: list[dict[str, object]] = []
    for piece in shard.pieces:
        filesystem, path = storage.filesystem(piece.file)
        with pq.ParquetFile(path, filesystem=filesystem) as file:
            present = [column for column in columns if column in file.schema_arrow.names]
            rows.extend(_read_piece(file, piece, present))
    return rows


def _read_piece(file: pq.ParquetFile, piece: Piece, columns: list[str]) -> list[dict[str, object]]:
    groups, first, at = [], 0, 0
    for number in range(file.num_row_groups):
        size = file.metadata.row_group(number).num_rows
        if at < piece.stop and at + size > piece.start:
            first = at if not groups else first
            groups.append(number)
        at += size
    table = file.read_row_groups(groups, columns=columns)
    return table.slice(piece.start - first, piece.stop - piece.start).to_pylist()


def _pieces(index: InputIndex, start: int, stop: int) -> Iterator[Piece]:
    """Where rows `start` to `stop` of the whole input lie in its files."""
    at = 0
    for file, ids in zip(index.files, index.ids, strict=True):
        low, high = max(start, at), min(stop, at + len(ids))
        if low < high:
            yield Piece(file=file, start=low - at, stop=high - at)
        at += len(ids)


def _ids_of(index: InputIndex, piece: Piece) -> pa.Array:
    return index.ids[index.files.index(piece.file)].slice(piece.start, piece.stop - piece.start)


def _digest(arrays: Sequence[pa.Array], settings: str) -> str:
    summed = hashlib.sha256(settings.encode())
    for array in arrays:
        for value in array.to_pylist():
            summed.update(f"{len(value)}:{value}".encode())
    return summed.hexdigest()


def _refuse_bad_ids(location: str, id_column: str, ids: Sequence[pa.Array]) -> None:
    together = pa.chunked_array(ids, type=pa.string())
    if together.null_count:
        raise InputError(f"input {location}: {together.null_count} rows have no {id_column};", "give each row an id.")
    counts = together.value_counts()
    doubled = [entry["values"] for entry in counts.filter(pc.greater(counts.field("counts"), 1)).to_pylist()]
    if doubled:
        shown = ", ".join(doubled[:_EXAMPLES])
        raise InputError(
            f"input {location}: {len(doubled)} ids stand more than once in {id_column}, for example {shown};",
            "output has one row per id, so ids must be unique.",
        )
