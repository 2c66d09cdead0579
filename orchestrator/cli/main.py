"""The `orchestrator` command: finds the verb, and turns named errors into one line and an exit code."""

import sys
from importlib import import_module

import typer

from orchestrator.model.error import OrchestratorError

VERBS = {
    "validate": "orchestrator.cli.validate:validate",
    "plan": "orchestrator.cli.plan:plan",
    "advise": "orchestrator.cli.advise:advise",
    "offers": "orchestrator.cli.offers:app",
    "up": "orchestrator.cli.up:up",
    "down": "orchestrator.cli.down:down",
    "env": "orchestrator.cli.env:env",
    "apply": "orchestrator.cli.apply:apply",
    "status": "orchestrator.cli.status:status",
    "events": "orchestrator.cli.events:events",
    "cost": "orchestrator.cli.cost:cost",
    "interrupt": "orchestrator.cli.interrupt:interrupt",
    "cluster-yaml": "orchestrator.cli.cluster_yaml:cluster_yaml",
    "demo": "orchestrator.cli.demo.command:demo",
}
"""In the order of --help. Only the module of the verb that was asked for is imported: `validate` needs no Ray."""


def command_line(arguments: list[str]) -> typer.Typer:
    """The application with the verb that `arguments` begin with, or with all of them."""
    app = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        help="Fine-tuning, nightly batch inference and serving on one Ray cluster, each on the cheapest hardware.",
    )
    app.callback()(lambda: None)  # a lone verb would otherwise become the application itself
    asked = arguments[:1]
    for name in asked if asked and asked[0] in VERBS else VERBS:
        module, attribute = VERBS[name].split(":")
        verb = getattr(import_module(module), attribute)
        if isinstance(verb, typer.Typer):
            app.add_typer(verb, name=name)
        else:
            app.command(name)(verb)
    return app


def main() -> None:
    """Entry point: exit 0 ok, 2 bad input, 1 failed at run time; no traceback for a named error."""
    try:
        command_line(sys.argv[1:])()
    except OrchestratorError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
