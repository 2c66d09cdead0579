"""Files and folders under local paths and s3:// URIs alike. AWS_ENDPOINT_URL points s3:// at another S3 server."""

import fnmatch
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from pyarrow import fs

from orchestrator.model.error import InputError, OperationError

S3 = "s3://"
_WILDCARD = re.compile(r"[*?\[]")


def filesystem(location: str) -> tuple[fs.FileSystem, str]:
    """The filesystem of a path or URI, and the path in it. Relative paths are taken from the working directory."""
    if not location.startswith(S3):
        return fs.LocalFileSystem(), str(Path(location).absolute())
    try:
        found, path = fs.FileSystem.from_uri(location)
    except (OSError, ValueError) as error:
        raise OperationError(
            f"cannot open {location}: {_reason(error)}.", "Check the URI and the credentials."
        ) from error
    return found, path.rstrip("/")


def join(location: str, *parts: str) -> str:
    """A location below another one."""
    return "/".join([location.rstrip("/"), *parts])


def exists(location: str) -> bool:
    """Whether a file or folder is there."""
    files, path = filesystem(location)
    return files.get_file_info(path).type != fs.FileType.NotFound


def expand(pattern: str) -> list[str]:
    """Locations of the files that a path or glob names (of a folder: the files directly in it), sorted."""
    files, path = filesystem(pattern)
    prefix = S3 if pattern.startswith(S3) else ""
    wild = _WILDCARD.search(path)
    if wild is None:
        info = files.get_file_info(path)
        if info.type == fs.FileType.File:
            return [prefix + path]
    base = path if wild is None else path[: path.rfind("/", 0, wild.start())]
    found = files.get_file_info(fs.FileSelector(base, recursive=wild is not None, allow_not_found=True))
    paths = [info.path for info in found if info.type == fs.FileType.File and not info.base_name.startswith((".", "_"))]
    return sorted(prefix + each for each in paths if wild is None or _matches(each, path))


def _matches(path: str, pattern: str) -> bool:
    """Glob match in which `*` stays inside one folder."""
    names, patterns = path.split("/"), pattern.split("/")
    return len(names) == len(patterns) and all(map(fnmatch.fnmatchcase, names, patterns))


def read_text(location: str) -> str | None:
    """Content of a UTF-8 text file; None when there is none."""
    files, path = filesystem(location)
    if files.get_file_info(path).type == fs.FileType.NotFound:
        return None
    with files.open_input_file(path) as file:
        return bytes(file.read()).decode()


def write_text(location: str, text: str) -> None:
    """Writes a text file so that a reader sees the old content or all of the new (an S3 put is atomic by itself)."""
    files, path = filesystem(location)
    if location.startswith(S3):
        with files.open_output_stream(path) as file:
            file.write(text.encode())
        return
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=target.parent, prefix=f".{target.name}-", delete=False) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    Path(file.name).chmod(0o644)
    Path(file.name).replace(target)


@contextmanager
def new_folder(location: str) -> Iterator[Path]:
    """A local folder to fill, which then appears at `location` complete or, after an error, not at all.

    An older folder there is replaced. S3 has no rename: there, whoever reads the folder must find it through a pointer
    that is written afterwards.
    """
    files, path = filesystem(location)
    remote = location.startswith(S3)
    target = Path(path)
    if not remote:
        target.parent.mkdir(parents=True, exist_ok=True)
    staged = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=None if remote else target.parent))
    try:
        yield staged
        if remote:
            fs.copy_files(str(staged), path, source_filesystem=fs.LocalFileSystem(), destination_filesystem=files)
            return
        staged.chmod(0o755)
        if target.exists():
            shutil.rmtree(target)
        staged.replace(target)
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def fetch_folder(location: str, cache: Path) -> Path:
    """A local folder with the content of a location: the location itself when it is local, else a complete cached copy.

    The cached copy is named after the names, sizes and times of the files, so a changed source is fetched anew.
    """
    files, path = filesystem(location)
    if not location.startswith(S3):
        return Path(path)
    found = files.get_file_info(fs.FileSelector(path, recursive=True, allow_not_found=True))
    listed = sorted((info.path, info.size, info.mtime_ns or 0) for info in found if info.type == fs.FileType.File)
    if not listed:
        raise InputError(f"{location} is empty or missing.", "Check the URI.")
    target = cache / f"{PurePosixPath(path).name}-{_digest(listed)}"
    if target.is_dir():
        return target
    cache.mkdir(parents=True, exist_ok=True)
    staged = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=cache))
    try:
        fs.copy_files(path, str(staged), source_filesystem=files, destination_filesystem=fs.LocalFileSystem())
        if not target.is_dir():
            staged.replace(target)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return target


def _digest(listed: list[tuple[str, int, int]]) -> str:
    return hashlib.sha256(repr(listed).encode()).hexdigest()[:16]


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
