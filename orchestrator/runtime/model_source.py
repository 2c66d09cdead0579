"""Where the weights of a model are: a folder that exists, or what the latest run of a train job published."""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

from orchestrator.model.card import ModelCard
from orchestrator.model.error import InputError
from orchestrator.runtime import storage


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What `current.json` of a train job says: the newest finished run, its Hugging Face folder and its metrics."""

    run_id: str
    path: str
    metrics: dict[str, float] = field(default_factory=dict)


def location(card: ModelCard, store: str) -> str:
    """Path or URI of the card's Hugging Face folder, which must be there; `store` is the cluster's storage."""
    if card.run is None:
        source = card.source
        fix = f"Check `source` of model {card.name}; for the demo's models run `make setup`."
    else:
        current = read_current(store, card.run)
        if current is None:
            fix = f"Run it first: `ray job submit --working-dir . -- python -m jobs.finetune --job {card.run}`."
            raise InputError(f"run:{card.run} has no published model yet.", fix)
        source = current.path
        fix = f"Train {card.run} again, or correct {pointer(store, card.run)}."
    if not storage.exists(storage.join(source, "config.json")):
        raise InputError(f"{source} is not a Hugging Face model folder (it has no config.json).", fix)
    return source


def resolve(card: ModelCard, store: str) -> str:
    """Local path of the card's Hugging Face folder; an s3:// folder is copied into this machine's cache once."""
    return str(storage.fetch_folder(location(card, store), cache_dir()))


def pointer(store: str, job: str) -> str:
    """Location of the file that names the newest result of a train job."""
    return storage.join(store, "models", job, "current.json")


def read_current(store: str, job: str) -> Published | None:
    """The newest published result of a train job, or None."""
    text = storage.read_text(pointer(store, job))
    if text is None:
        return None
    try:
        found = json.loads(text)
        return Published(run_id=found["run_id"], path=found["path"], metrics=found.get("metrics", {}))
    except (ValueError, TypeError, KeyError) as error:
        where = pointer(store, job)
        raise InputError(f"{where} cannot be understood ({error}).", f"Delete it and train {job} again.") from error


def write_current(store: str, job: str, published: Published) -> None:
    """Makes a result the newest one. Called last, when the folder it names is complete."""
    storage.write_text(pointer(store, job), json.dumps(asdict(published), indent=1, sort_keys=True) + "\n")


def cache_dir() -> Path:
    """Where copies of remote models live: $XDG_CACHE_HOME/orchestrator/models, by default below ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "orchestrator" / "models"
