"""``metalwright bios``: attributes of a server, and the registries that tell what they take."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from metalwright.bios import AttributeRegistry, infer_registry, parse_registry
from metalwright.bios.normalise import normalise, registry_name
from metalwright.bios.profile import golden_profile
from metalwright.bios.spelling import explain_unknown
from metalwright.bios.wording import attribute_lines
from metalwright.cli.bios_text import as_json, attribute_list, blueprint_section
from metalwright.cli.context import CliContext, print_json
from metalwright.errors import BiosError, IdentityError, UsageError
from metalwright.loading import SitePaths
from metalwright.loading.files import write_atomically
from metalwright.redfish.access import identity_failures, report_of
from metalwright.redfish.bios_reading import BiosReading, read_bios
from metalwright.redfish.inventory import read_identities
from metalwright.registries import stored_names, stored_registry
from metalwright.runner.bmc_session import open_bmc
from metalwright.workspace import Workspace, open_workspace

group = typer.Typer(
    name="bios", help="BIOS attributes of a server, and registries of attributes.", no_args_is_help=True
)
registries = typer.Typer(name="registry", help="Registries of attributes, kept in the site.", no_args_is_help=True)
NodeArgument = Annotated[str, typer.Argument(metavar="NODE", help="A node of the inventory.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(group)


group.add_typer(registries)


@group.command("show")
def show(
    context: typer.Context,
    node: NodeArgument,
    is_json: JsonOption = False,
    as_blueprint: Annotated[
        bool, typer.Option("--as-blueprint", help="Print what differs from the defaults, as a blueprint's section.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="With --as-blueprint: also what has no default in the registry.")
    ] = False,
) -> None:
    """Show the BIOS attributes of a node: in force, default, and waiting for a restart.

    With --as-blueprint the server is the golden one: its section `bios` goes into a new blueprint version. Secrets,
    locked attributes and what belongs to one machine alone are left out. Exit 1: the BMC could not be read.
    """
    cli: CliContext = context.obj
    with open_workspace(cli.site) as site:
        reading = _read(site, node)
        name = _name(site, node, reading)
    registry = _registry(reading)
    if as_blueprint:
        profile = golden_profile(registry, reading.state["attributes"], with_unjudged=everything)
        typer.echo("\n".join(blueprint_section(name, profile)))
        if profile.unjudged and not everything:
            count = len(profile.unjudged)
            cli.err.print(f"left out, because the registry tells no default: {count} (--all prints them)", markup=False)
    elif is_json:
        print_json(as_json(node, registry, reading))
    else:
        typer.echo("\n".join(attribute_list(registry, reading.state)))


@registries.command("pull")
def pull(context: typer.Context, node: NodeArgument) -> None:
    """Keep the registry that the BMC of a node serves, so that `check` and pull requests need no hardware.

    The file is `blueprints/registries/VENDOR/MODEL-BIOS.json`. It is the same from every machine of the kind. Exit 1:
    the BMC serves no registry.
    """
    cli: CliContext = context.obj
    with open_workspace(cli.site) as site:
        reading = _read(site, node)
        name = _name(site, node, reading)
    if reading.registry is None or not parse_registry(reading.registry).attributes:
        raise BiosError(
            "the BMC serves no attribute registry",
            where=node,
            found=f"the BIOS names {reading.state['registry'] or 'none'}",
            hint="take it from another machine of the same kind and BIOS version",
        )
    path = SitePaths(cli.site).registry(name)
    data = normalise(reading.registry)
    is_known = path.exists() and path.read_bytes() == data
    if not is_known:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, data)
    typer.echo(f"{name}: {'unchanged' if is_known else 'written'}, {path}")


@registries.command("list")
def list_registries(context: typer.Context, is_json: JsonOption = False) -> None:
    """List the registries of the site, with the number of attributes and dependencies."""
    cli: CliContext = context.obj
    rows = [
        {"name": name, "attributes": len(registry.attributes), "dependencies": len(registry.dependencies)}
        for name, registry in _stored(cli.site, None)
    ]
    if is_json:
        print_json({"schema": 1, "registries": rows})
        return
    for row in rows:
        typer.echo(f"{row['name']}: {row['attributes']} attributes, {row['dependencies']} dependencies")


@registries.command("show")
def show_attribute(
    context: typer.Context,
    attribute: Annotated[str, typer.Argument(metavar="ATTR", help="Name or display name of an attribute.")],
    registry: Annotated[
        str | None, typer.Option("--registry", metavar="NAME", help="Look into this registry alone.")
    ] = None,
) -> None:
    """Show what an attribute takes and what it depends on, in every registry of the site that knows it."""
    cli: CliContext = context.obj
    misses = []
    found = 0
    for name, known in _stored(cli.site, registry):
        meant = known.name_of(attribute)
        if meant is None:
            misses.append(f"{name}: {explain_unknown(known, attribute)}")
            continue
        found += 1
        typer.echo(f"# {name}")
        for line in attribute_lines(known, meant):
            typer.echo(line)
    if not found:
        raise UsageError(
            "no registry of the site has this attribute",
            where=attribute,
            found="; ".join(misses) or "no registries",
            hint="metalwright bios registry list",
        )


def _stored(root: Path, only: str | None) -> list[tuple[str, AttributeRegistry]]:
    names = stored_names(root)
    if only is not None and only not in names:
        raise UsageError("no such registry", where=only, expected=", ".join(names) or "none is stored")
    wanted = names if only is None else (only,)
    return [(name, known) for name in wanted if (known := stored_registry(root, name)) is not None]


def _read(site: Workspace, name: str) -> BiosReading:
    return asyncio.run(_read_node(site, name))


async def _read_node(site: Workspace, name: str) -> BiosReading:
    """The identity comes first: a golden profile of another machine would be a bad one."""
    node = site.repository.node(name)
    async with open_bmc(site, name) as session:
        report = report_of(node, await read_identities(session.client, session.place.host))
        contradictions = identity_failures(node, report)
        if contradictions:
            raise IdentityError("this is not the declared machine", where=name, found="; ".join(contradictions))
        return await read_bios(session.client)


def _name(site: Workspace, node: str, reading: BiosReading) -> str:
    """The name of the registry; where the blueprint names the same one in other letters, its spelling counts."""
    name = registry_name(reading.manufacturer, reading.model, reading.version)
    profile = site.blueprint(node).bios
    return profile.registry if profile is not None and profile.registry.lower() == name.lower() else name


def _registry(reading: BiosReading) -> AttributeRegistry:
    registry = parse_registry(reading.registry) if reading.registry is not None else None
    return registry if registry is not None and registry.attributes else infer_registry(reading.state["attributes"])
