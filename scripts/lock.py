"""Resolves pyproject.toml into a fully pinned lock file: `python scripts/lock.py cpu|gpu`.

pip resolves (dry run, nothing is installed) and reports; every version of the report is written down, and `make setup`
installs the list with --no-deps, so that what was resolved is what runs.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

# Builds of these that match the CPU torch are not on the common index, and text models never import them;
# triton has no CPU backend and is 1 GB.
LEFT_OUT = {"cpu": {"torchvision", "torchaudio", "torchcodec", "triton"}, "gpu": set()}
EXTRAS = {"cpu": ("cpu", "dev"), "gpu": ("gpu", "dev")}


def requirements(kind: str) -> list[str]:
    """What pyproject.toml asks for with the extras of that kind."""
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    return project["dependencies"] + [row for extra in EXTRAS[kind] for row in project["optional-dependencies"][extra]]


def resolve(kind: str) -> list[str]:
    """Pinned "name==version" rows, sorted by name."""
    with tempfile.TemporaryDirectory() as folder:
        wanted, report = Path(folder, "in.txt"), Path(folder, "report.json")
        wanted.write_text("\n".join(requirements(kind)))
        command = [sys.executable, "-m", "pip", "install", "-qq", "--dry-run", "--ignore-installed"]
        subprocess.run([*command, "--report", str(report), "-r", str(wanted)], check=True)
        found = [row["metadata"] for row in json.loads(report.read_text())["install"]]
    rows = {row["name"].lower().replace("_", "-"): row["version"] for row in found}
    return [f"{name}=={version}" for name, version in sorted(rows.items()) if name not in LEFT_OUT[kind]]


if __name__ == "__main__":
    target = Path(f"requirements-{sys.argv[1]}.lock")
    target.write_text("\n".join(resolve(sys.argv[1])) + "\n")
    print(f"wrote {target}")
