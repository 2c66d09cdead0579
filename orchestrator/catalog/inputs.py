"""What a job needs from storage, looked up before any node is started for it."""

from collections.abc import Iterable, Iterator

from orchestrator.catalog import location, parquet, template
from orchestrator.catalog.storage import StorageError, first_match
from orchestrator.model.card import ModelCard
from orchestrator.model.catalog import Catalog
from orchestrator.model.job import BatchJob, Job, ServeJob, TrainJob


def missing_inputs(job: Job, catalog: Catalog, *, date: str | None = None) -> tuple[str, ...]:
    """What of a job's models and data is not there, one sentence each; empty when the job can start.

    `date` (YYYY-MM-DD) fills `{date}`; without it the data of any date will do. Data is its first file, in order of
    name: it must exist and hold the columns that the job names.
    """
    region = catalog.cluster.region
    match job:
        case TrainJob():
            columns = (job.prompt_column, job.completion_column)
            return (*_models([job.model], region), *_data(job.data, columns, region))
        case BatchJob():
            pattern = job.input.replace(location.DATE, date or "*")
            columns = (job.id_column, *template.columns(job.prompt))
            return (*_models([job.model], region), *_data(pattern, columns, region))
        case ServeJob():
            return tuple(_models((card for _, card in job.models), region))


def _models(cards: Iterable[ModelCard], region: str) -> Iterator[str]:
    for card in {card.name: card for card in cards}.values():
        name = location.within(card.source, "config.json" if card.run is None else "current.json")
        try:
            found = first_match(name, region) is not None
        except StorageError as error:
            yield f"model {card.name}: {error}"
            continue
        if not found and card.run is None:
            yield f"model {card.name}: {name} does not exist; put the model there or correct its source"
        elif not found:
            yield f"model {card.name}: {name} does not exist yet; run job {card.run} to train and publish it"


def _data(pattern: str, columns: Iterable[str], region: str) -> tuple[str, ...]:
    try:
        name = first_match(pattern, region)
        if name is None:
            return (f"data {pattern}: no such file; put the data there or correct its location",)
        present = parquet.columns(name, region)
    except StorageError as error:
        return (f"data {error}",)
    if present is None:
        return ()
    missing = [column for column in dict.fromkeys(columns) if column not in present]
    return tuple(f"data {name}: has no column {column} (its columns: {', '.join(present)})" for column in missing)
