"""Prompt templates of batch jobs."""

from functools import cache

import jinja2
import jinja2.meta
import jinja2.nodes

from orchestrator.catalog.quantity import QuantityError, shown


def template(value: object) -> str:
    """A Jinja template without syntax errors."""
    if not isinstance(value, str) or not value.strip():
        raise QuantityError(f'must be a Jinja template such as "Score: {{{{ text }}}}", not {shown(value)}')
    _parsed(value)
    return value


def columns(text: str) -> tuple[str, ...]:
    """The variables a template cannot do without, sorted; none when it handles absent ones itself."""
    if "default" in text or "defined" in text:
        return ()
    return tuple(sorted(jinja2.meta.find_undeclared_variables(_parsed(text))))


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(autoescape=False)


def _parsed(text: str) -> jinja2.nodes.Template:
    try:
        return _environment().parse(text)
    except jinja2.TemplateSyntaxError as error:
        raise QuantityError(f"is not a valid Jinja template: {error.message} (line {error.lineno} of it)") from error
    except RecursionError as error:
        raise QuantityError("is not a usable Jinja template: nests too deep") from error
