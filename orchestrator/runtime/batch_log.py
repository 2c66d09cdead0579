"""What a batch has finished: one file per shard, written whole or not at all, and a manifest that ends the night."""

import json
import os
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from orchestrator.runtime import storage
from orchestrator.runtime.batch_input import Shard, index_input

MANIFEST = "_manifest.json"
ERRORS = "errors"
_STAT_KEY = b"orchestrator.shard"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardStat:
    """What one shard gave: `rows` answered, `errors` refused or failed; seconds the engine worked on it."""

    shard: str
    rows: int
    errors: int
    prompt_tokens: int
    output_tokens: int
    seconds: float
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCheck:
    """Input against output by id: `rows_out` answers and `rows_failed` error rows; each id must be in one of them."""

    rows_in: int
    rows_out: int
    rows_failed: int
    missing: tuple[str, ...]
    doubled: tuple[str, ...]
    unexpected: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """No id lost, none twice, none from nowhere."""
        return not (self.missing or self.doubled or self.unexpected)


class ShardLog:
    """The output folder of one night. Every write is atomic: a rename on a file system, a single object on S3.

    A shard's answers are written after its error rows, so that the answers' file alone says that it is done.
    """

    def __init__(self, output: str) -> None:
        self.output = output
        self._filesystem, self._folder = storage.filesystem(output)
        self._local = isinstance(self._filesystem, pafs.LocalFileSystem)

    def manifest(self) -> dict[str, Any] | None:
        """The manifest of a finished night, None before."""
        path = f"{self._folder}/{MANIFEST}"
        if self._filesystem.get_file_info(path).type != pafs.FileType.File:
            return None
        with self._filesystem.open_input_stream(path) as stream:
            found: dict[str, Any] = json.loads(stream.read())
        return found

    def stat(self, shard: Shard) -> ShardStat | None:
        """What a finished shard gave, from its file's footer; None while it is not done."""
        path = f"{self._folder}/{shard.name}"
        if self._filesystem.get_file_info(path).type != pafs.FileType.File:
            return None
        metadata = pq.read_schema(path, filesystem=self._filesystem).metadata or {}
        return ShardStat(**json.loads(metadata[_STAT_KEY]))

    def commit(self, shard: Shard, answers: pa.Table, failures: pa.Table, stat: ShardStat) -> None:
        """Make a shard done. Doing it twice leaves the same files."""
        if failures.num_rows:
            self._write(f"{ERRORS}/{shard.name}", _parquet(failures))
        metadata = {_STAT_KEY: json.dumps(asdict(stat)).encode()}
        self._write(shard.name, _parquet(answers.replace_schema_metadata(metadata)))

    def finish(self, manifest: dict[str, Any]) -> None:
        """End the night: from now on the output is complete."""
        self._write(MANIFEST, json.dumps(manifest, indent=1, sort_keys=True).encode())

    def drop_others(self, shards: list[Shard]) -> int:
        """Remove result files that belong to none of these shards (other input or settings); returns how many."""
        keep = {shard.name for shard in shards}
        stale = [path for path in self._part_files() if path.rpartition("/")[2] not in keep]
        for path in stale:
            self._filesystem.delete_file(path)
        return len(stale)

    def clear(self) -> None:
        """Forget the night, the manifest first so that nobody takes the rest for complete."""
        manifest = f"{self._folder}/{MANIFEST}"
        if self._filesystem.get_file_info(manifest).type == pafs.FileType.File:
            self._filesystem.delete_file(manifest)
        self.drop_others([])

    def _part_files(self) -> list[str]:
        infos = []
        for folder in (self._folder, f"{self._folder}/{ERRORS}"):
            infos += self._filesystem.get_file_info(pafs.FileSelector(folder, allow_not_found=True))
        files = [info for info in infos if info.type == pafs.FileType.File]
        return sorted(info.path for info in files if info.base_name.startswith((".part-", "part-")))

    def _write(self, name: str, data: bytes) -> None:
        path = f"{self._folder}/{name}"
        if not self._local:
            with self._filesystem.open_output_stream(path) as stream:
                stream.write(data)
            return
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        hidden = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}")
        with hidden.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        hidden.replace(target)


def verify_output(output: str, input_location: str, id_column: str = "id") -> BatchCheck:
    """Compare the ids of a night's output, error rows included, with those of its input."""
    wanted = {value for ids in index_input(input_location, id_column, []).ids for value in ids.to_pylist()}
    answered = _ids(output, id_column)
    failed = _ids(f"{output.rstrip('/')}/{ERRORS}", id_column)
    seen: set[str] = set()
    doubled: set[str] = set()
    for value in answered + failed:
        (doubled if value in seen else seen).add(value)
    return BatchCheck(
        rows_in=len(wanted),
        rows_out=len(answered),
        rows_failed=len(failed),
        missing=tuple(sorted(wanted - seen)),
        doubled=tuple(sorted(doubled)),
        unexpected=tuple(sorted(seen - wanted)),
    )


def _ids(folder: str, id_column: str) -> list[str]:
    filesystem, path = storage.filesystem(folder)
    selector = pafs.FileSelector(path, allow_not_found=True)
    names = sorted(info.path for info in filesystem.get_file_info(selector) if info.base_name.startswith("part-"))
    return [
        str(value)
        for name in names
        for value in pq.read_table(name, columns=[id_column], filesystem=filesystem)[id_column].to_pylist()
    ]


def _parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    data: bytes = sink.getvalue().to_pybytes()
    return data
