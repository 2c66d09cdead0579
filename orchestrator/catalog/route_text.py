"""The `if` of a routing rule."""

from orchestrator.catalog.quantity import QuantityError, shown
from orchestrator.catalog.suggest import nearest
from orchestrator.policy.route_rule import RouteRuleError, parse


def condition(value: object) -> tuple[str, str, float | str]:
    """(subject, operator, value) of `prompt_words < 50` and the like."""
    if not isinstance(value, str):
        raise QuantityError(f'must be a comparison such as "prompt_words < 50", not {shown(value)}')
    try:
        return parse(value)
    except RouteRuleError as error:
        raise QuantityError(str(error), nearest(error.word, error.known) if error.known else None) from error
