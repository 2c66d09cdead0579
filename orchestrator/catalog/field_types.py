"""Field types of the schema: each reads a catalog value with its unit and knows its JSON Schema."""

from collections.abc import Callable
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler, WithJsonSchema
from pydantic_core import CoreSchema, PydanticCustomError

from orchestrator.catalog import accelerators, location, quantity
from orchestrator.catalog.quantity import QuantityError

CUSTOM = "quantity"
"""Error type of everything the readers below refuse; the message is the context's `text`."""


class Section(BaseModel):
    """A mapping of the catalog: unknown keys and values of the wrong type are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def setting(default: Any, description: str, *, otherwise: str | None = None, **rules: Any) -> Any:
    """An optional key; `otherwise` says in words what holds without it, where `default` alone does not."""
    return Field(
        default, description=description, json_schema_extra={"x-default": otherwise} if otherwise else None, **rules
    )


def required(description: str, **rules: Any) -> Any:
    """A key that must be there."""
    return Field(description=description, **rules)


def reader(read: Callable[[Any], Any]) -> BeforeValidator:
    """A validator that turns QuantityError into a fault with its suggestion."""

    def validate(value: Any) -> Any:
        try:
            return read(value)
        except QuantityError as error:
            context = {"text": error.message, "suggestion": error.suggestion}
            raise PydanticCustomError(CUSTOM, "{text}", context) from error

    return BeforeValidator(validate)


def _text_schema(pattern: str, example: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": pattern, "examples": [example]})


def _number_or_text(pattern: str, example: str) -> WithJsonSchema:
    number = {"type": "number", "exclusiveMinimum": 0}
    return WithJsonSchema({"anyOf": [number, {"type": "string", "pattern": pattern}], "examples": [example]})


_NUMBER = r"[0-9]+(\.[0-9]+)?"

Duration = Annotated[float, reader(quantity.duration_s), _text_schema(rf"^({_NUMBER}\s*(ms|s|m|h|d)\s*)+$", "10m")]
Latency = Annotated[float, reader(quantity.duration_s), _text_schema(rf"^({_NUMBER}\s*(ms|s|m|h|d)\s*)+$", "800ms")]
UsdPerHour = Annotated[
    Decimal,
    reader(lambda value: quantity.usd_per(value, "h")),
    _text_schema(rf"^\$\s*{_NUMBER}\s*/\s*(h|hr|hour)$", "$3.20/h"),
]
UsdPerDay = Annotated[
    Decimal,
    reader(lambda value: quantity.usd_per(value, "day")),
    _text_schema(rf"^\$\s*{_NUMBER}\s*/\s*(d|day)$", "$20/day"),
]
Percent = Annotated[float, reader(quantity.percent_fraction), _text_schema(rf"^{_NUMBER}\s*%$", "2%")]
Fraction = Annotated[float, reader(quantity.fraction), _number_or_text(rf"^{_NUMBER}\s*%$", "0.9")]
Size = Annotated[float, reader(quantity.size_gb), _text_schema(rf"^{_NUMBER}\s*[MGT]i?B$", "80GiB")]
Count = Annotated[float, reader(quantity.count), _number_or_text(rf"^{_NUMBER}\s*[kMBGT]?$", "40M")]
WholeCount = Annotated[float, reader(quantity.whole_count), _number_or_text(rf"^{_NUMBER}\s*[kMBGT]?$", "40M")]
Clock = Annotated[str, reader(quantity.clock), _text_schema(r"^([01]?[0-9]|2[0-3]):[0-5][0-9]$", "06:00")]
Rate = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]
Positive = Annotated[int, Field(ge=1, le=10**9)]
Text = Annotated[str, Field(min_length=1)]

Accelerators = Annotated[
    tuple[str, ...],
    reader(accelerators.accelerators),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "enum": [accelerators.ANY, *accelerators.KNOWN]},
                {"type": "array", "minItems": 1, "items": {"type": "string", "enum": list(accelerators.KNOWN)}},
            ]
        }
    ),
]
Location = Annotated[str, reader(location.location), WithJsonSchema({"type": "string", "minLength": 1})]
DatedLocation = Annotated[str, reader(location.dated), WithJsonSchema({"type": "string", "minLength": 1})]
Name = Annotated[str, reader(location.name), _text_schema(location.NAME_PATTERN, "claims-finetune")]


class Span(Section):
    """A range of whole numbers."""

    min: int | None = setting(None, "At least so many.", otherwise="1", ge=1, le=10_000)
    max: int | None = setting(None, "At most so many.", otherwise="`min`, or as the key says", ge=1, le=10_000)


def _span(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= 10_000:
            raise QuantityError(f"must be from 1 to 10000, not {value}")
        return {"min": value, "max": value}
    if not isinstance(value, dict):
        raise QuantityError(f"must be a whole number or {{min, max}}, not {quantity.shown(value)}")
    return value


class _OrNumber:
    """Adds to a mapping's JSON Schema that a whole number will do."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "integer", "minimum": 1}, handler(core)]}


Instances = Annotated[Span, reader(_span), _OrNumber()]


def choice(members: type[StrEnum] | tuple[StrEnum, ...], refused: dict[str, str] | None = None) -> Any:
    """A field type of enum members, by their values."""
    kept = tuple(members)
    known = tuple(member.value for member in kept)
    by_value = {member.value: member for member in kept}

    def read(value: Any) -> StrEnum:
        return by_value[quantity.word(value, known, refused or {})]

    return Annotated[type(kept[0]), reader(read), WithJsonSchema({"type": "string", "enum": list(known)})]


def words(*known: str) -> Any:
    """A field type of fixed words that have no enum."""
    read = reader(lambda value: quantity.word(value, known, {}))
    return Annotated[str, read, WithJsonSchema({"type": "string", "enum": list(known)})]
