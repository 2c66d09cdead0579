"""`orchestrator cluster-yaml`: what Ray's cluster launcher needs on AWS, for exactly the offers of a plan."""

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.planned import read_planned
from orchestrator.cluster.aws_config import AMI, AwsOptions, aws_config, missing_subnets, render
from orchestrator.cluster.state import write_atomically
from orchestrator.model.error import InputError
from orchestrator.offers import current_list
from orchestrator.offers.current import SHIPPED

HEADER = """Ray cluster on AWS; start it with: ray up cluster.yaml
Made by `orchestrator cluster-yaml {catalog}`; do not edit, make it again. Prices of {as_of}.
Before the first `ray up`: `ray get-auth-token --generate`, and a subnet for each zone named subnet-of-ZONE below
(--subnet ZONE=SUBNET). docs/local-cloud.md says what was tried and what was not."""


def cluster_yaml(
    catalog: Annotated[Path, typer.Argument(metavar="CATALOG", help="The job catalog.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write; - prints it.")] = Path("cluster.yaml"),
    subnet: Annotated[
        list[str] | None,
        typer.Option(metavar="ZONE=SUBNET", help="Subnet of a zone id; give one per zone."),
    ] = None,
    name: Annotated[str, typer.Option(help="Name of the cluster.")] = "orchestrator",
    ami: Annotated[str, typer.Option(help="Image of all nodes.", show_default="AWS's newest with a GPU driver")] = AMI,
    head_instance_type: Annotated[str, typer.Option(help="Instance type of the head.")] = "m7i.2xlarge",
) -> None:
    """Write cluster.yaml for `ray up`: one node type per offer that the plan may use."""
    planned = read_planned(catalog, emulated=False)
    prices = current_list().origin
    options = AwsOptions(
        cluster_name=name,
        region=planned.catalog.cluster.region,
        max_workers=planned.catalog.cluster.max_workers,
        head_instance_type=head_instance_type,
        ami=ami,
        subnets=_subnets(subnet or []),
        prices=None if prices == SHIPPED else prices,
    )
    header = HEADER.format(catalog=catalog, as_of=planned.plan.prices_as_of)
    text = render(aws_config(planned.node_types, options), header)
    if str(output) == "-":
        print(text, end="")
        return
    _check_output(output, catalog)
    write_atomically(output.absolute(), text.encode())
    print(f"wrote {output}: {len(planned.node_types)} node types")
    missing = missing_subnets(planned.node_types, options)
    if missing:
        print(f"warning: no subnet given for {', '.join(missing)}: add --subnet ZONE=SUBNET for each")


def _check_output(output: Path, catalog: Path) -> None:
    """Only a new file, or one that this command made, is written."""
    if output.exists() and (not output.is_file() or output.resolve() == catalog.resolve() or not _made_here(output)):
        raise InputError(
            f"--output {output}: exists and was not made by this command.", "Name a new file, or remove that one."
        )
    if not output.absolute().parent.is_dir():
        raise InputError(f"--output {output}: its folder does not exist.", "Make it first.")


def _made_here(path: Path) -> bool:
    with path.open(encoding="utf-8", errors="replace") as lines:
        return "Ray cluster on AWS; start it with: ray up" in lines.readline()


def _subnets(pairs: list[str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        zone, separator, subnet = pair.partition("=")
        if not (zone and separator and subnet):
            raise InputError(f"--subnet {pair}: not of the form ZONE=SUBNET.", "For example use1-az1=subnet-0123abcd.")
        found[zone] = subnet
    return found
