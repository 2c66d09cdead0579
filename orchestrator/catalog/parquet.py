"""Column names of Parquet files."""

from orchestrator.catalog.storage import StorageError, open_file

_SUFFIXES = (".parquet", ".pq")


def columns(name: str, region: str) -> tuple[str, ...] | None:
    """The columns of a Parquet file; None for a file of another format."""
    if not name.endswith(_SUFFIXES):
        return None
    from pyarrow import ArrowException
    from pyarrow.parquet import read_schema

    with open_file(name, region) as file:
        try:
            return tuple(read_schema(file).names)
        except (ArrowException, OSError) as error:
            raise StorageError(f"{name} is not a readable Parquet file: {' '.join(str(error).split())}") from error
