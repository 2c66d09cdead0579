"""Labelled texts from botocore, which every installation has: what an AWS operation does → its service.

Ten services with many clear texts. The names of all ten are blotted out of the texts ("the service"), and the
operation's own name is not in the prompt: the answer has to come from the meaning.
"""

import hashlib
import html
import re
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from botocore.loaders import Loader
from tokenizers import Tokenizer

TRAIN_PER_SERVICE = 60
HELDOUT_PER_SERVICE = 12
BATCH_ROWS = 400
MAX_TEXT_TOKENS = 24
"""The first sentence, mostly. More helps little (a bag-of-words classifier: 88% with 20 as with 32) and costs time."""
MIN_TEXT_WORDS = 6
PROMPT = "{text}\nWhich AWS service does this?"

SERVICES = {  # label (also the name of botocore's model) → what the texts call it
    "codecommit": ("AWS CodeCommit", "CodeCommit"),
    "ec2": ("Amazon Elastic Compute Cloud", "Amazon EC2", "EC2"),
    "gamelift": ("Amazon GameLift Servers", "Amazon GameLift", "GameLift"),
    "guardduty": ("Amazon GuardDuty", "GuardDuty"),
    "iam": ("Identity and Access Management", "Amazon Web Services IAM", "IAM"),
    "lambda": ("AWS Lambda", "Amazon Web Services Lambda", "Lambda"),
    "medialive": ("AWS Elemental MediaLive", "MediaLive"),
    "rds": ("Amazon Relational Database Service", "Amazon RDS", "RDS", "Amazon Aurora", "Aurora"),
    "s3": ("Amazon Simple Storage Service", "Amazon S3", "S3"),
    "sagemaker": ("Amazon SageMaker AI", "Amazon SageMaker", "SageMaker AI", "SageMaker"),
}
_OTHER_NAME = "the service"
_NAMES = re.compile(
    r"\b(" + "|".join(sorted((name for names in SERVICES.values() for name in names), key=len, reverse=True)) + r")\b",
    re.IGNORECASE,
)
_TAG = re.compile(r"<[^>]+>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One operation: `id` like "ec2.RunInstances", the prompt, and the service as the expected answer."""

    id: str
    prompt: str
    completion: str


def fingerprint(batch_rows: int) -> str:
    """Changes whenever the files would."""
    return f"operations v3 botocore {version('botocore')} batch {batch_rows}"


def write(model: Path, target: Path, batch_rows: int) -> None:
    """Writes train and heldout (balanced, labelled) and batch (unlabelled); `model`'s tokenizer measures the texts."""
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    train, heldout, rest = split([rows(label, tokenizer) for label in SERVICES])
    _write(target / "train.parquet", train, ("id", "prompt", "completion"))
    _write(target / "heldout.parquet", heldout, ("id", "prompt", "completion"))
    _write(target / "batch.parquet", rest[:batch_rows], ("id", "prompt"))


def rows(label: str, tokenizer: Tokenizer) -> list[Row]:
    """All usable operations of a service, in an order that depends on nothing but their ids."""
    operations = Loader().load_service_model(label, "service-2")["operations"]
    found = []
    for name, operation in operations.items():
        text = shorten(clean(operation.get("documentation", "")), tokenizer)
        if len(text.split()) >= MIN_TEXT_WORDS:
            found.append(Row(id=f"{label}.{name}", prompt=PROMPT.format(text=text), completion=label))
    return sorted(found, key=lambda row: _shuffle_key(row, "split"))


def clean(documentation: str) -> str:
    """Plain text of an HTML fragment with the ten services' names replaced by "the service"."""
    text = " ".join(html.unescape(_TAG.sub(" ", documentation)).split())
    return _NAMES.sub(_OTHER_NAME, text)


def shorten(text: str, tokenizer: Tokenizer, tokens: int = MAX_TEXT_TOKENS) -> str:
    """The first `tokens` tokens of `text`, without a word cut in two."""
    encoding = tokenizer.encode(text, add_special_tokens=False)
    if len(encoding) <= tokens:
        return text
    return text[: encoding.offsets[tokens][0]].rsplit(" ", 1)[0]


def split(services: list[list[Row]]) -> tuple[list[Row], list[Row], list[Row]]:
    """Train and held-out rows, equally many of each service, and all that is left; no prompt occurs twice anywhere."""
    seen: set[str] = set()
    parts: tuple[list[Row], list[Row], list[Row]] = ([], [], [])
    for found in services:
        unique = [row for row in found if not (row.prompt in seen or seen.add(row.prompt))]  # type: ignore[func-returns-value]
        cuts = (0, TRAIN_PER_SERVICE, TRAIN_PER_SERVICE + HELDOUT_PER_SERVICE, len(unique))
        for part, start, end in zip(parts, cuts, cuts[1:], strict=False):
            part.extend(unique[start:end])
    train, heldout, rest = (sorted(part, key=lambda row: _shuffle_key(row, "mix")) for part in parts)
    return train, heldout, rest


def _shuffle_key(row: Row, salt: str) -> str:
    """Two salts, because rows that were cut off by the first order are no longer evenly spread in it."""
    return hashlib.sha256(f"{salt}:{row.id}".encode()).hexdigest()


def _write(path: Path, found: list[Row], columns: tuple[str, ...]) -> None:
    pq.write_table(pa.table({column: [getattr(row, column) for row in found] for column in columns}), path)
