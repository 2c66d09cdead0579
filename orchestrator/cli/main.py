"""The `orchestrator` command: registers the verbs and turns named errors into one line and an exit code."""

import sys

import typer

from orchestrator.cli.apply import apply
from orchestrator.cli.cluster_yaml import cluster_yaml
from orchestrator.cli.cost import cost
from orchestrator.cli.demo.command import demo
from orchestrator.cli.down import down
from orchestrator.cli.env import env
from orchestrator.cli.events import events
from orchestrator.cli.interrupt import interrupt
from orchestrator.cli.offers import app as offers
from orchestrator.cli.plan import plan
from orchestrator.cli.status import status
from orchestrator.cli.up import up
from orchestrator.cli.validate import validate
from orchestrator.model.error import OrchestratorError

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__)
app.command()(validate)
app.command()(plan)
app.command()(up)
app.command()(down)
app.command()(env)
app.command()(apply)
app.command()(status)
app.command()(events)
app.command()(interrupt)
app.command()(demo)
app.command("cluster-yaml")(cluster_yaml)
app.add_typer(cost, name="cost")
app.add_typer(offers, name="offers")


def main() -> None:
    """Entry point: exit 0 ok, 2 bad input, 1 failed at run time; no traceback for a named error."""
    try:
        app()
    except OrchestratorError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
