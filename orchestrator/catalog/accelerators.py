"""Names of accelerators, and the forms in which a catalog may ask for them."""

from orchestrator.catalog.quantity import QuantityError, shown
from orchestrator.catalog.suggest import by_likeness, nearest

CPU = "cpu"
KNOWN = (
    "A10G", "A100", "A100-80GB", "B200", "H100", "H200", "L4", "L40S", "T4", "V100", "V100-32GB", CPU,
)  # fmt: skip
"""NVIDIA accelerators of EC2 instance types (aws.amazon.com/ec2/instance-types, 2026), and CPU machines."""

ANY = "any"
_MIXED = "a run never mixes accelerator types; give alternatives as a list such as [L4, A10G]"


def accelerators(value: object) -> tuple[str, ...]:
    """The alternatives of `any` (none named), `L4` or `[A10G, L4]`; each once, in the order given."""
    if value == ANY:
        return ()
    if isinstance(value, str):
        return (_one(value),)
    if isinstance(value, dict):
        raise QuantityError(_MIXED if len(value) > 1 else "takes names without counts: L4 or [L4, A10G]")
    if not isinstance(value, list) or not value:
        raise QuantityError(f"must be any, one type or a list of types such as [L4, A10G], not {shown(value)}")
    if ANY in value:
        raise QuantityError("any stands alone, not in a list")
    if any(isinstance(each, dict | list) for each in value):
        raise QuantityError(_MIXED)
    return tuple(dict.fromkeys(_one(each) for each in value))


def _one(value: object) -> str:
    if not isinstance(value, str):
        raise QuantityError(f"must be the name of an accelerator such as L4, not {shown(value)}")
    if value in KNOWN:
        return value
    for joint in ("+", ",", "&", "|", " and "):
        if joint in value:
            raise QuantityError(_MIXED, f"[{', '.join(part.strip() for part in value.split(joint))}]")
    name, colon, _ = value.partition(":")
    if colon and name in KNOWN:
        raise QuantityError("takes names without counts; placement finds how many", name)
    known = ", ".join(by_likeness(value, KNOWN)[:6])
    raise QuantityError(f"unknown accelerator {shown(value)}; known are {known}, …", nearest(value, KNOWN))
