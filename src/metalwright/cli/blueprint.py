"""``metalwright blueprint``: versions of blueprints."""

from __future__ import annotations

from typing import Annotated

import typer

from metalwright.acceptance.floors import FloorFinding, floor_findings
from metalwright.cli.context import CliContext, print_json
from metalwright.loading import load_model
from metalwright.loading.blueprint_lock import read_blueprint_lock
from metalwright.model.blueprint import Blueprint
from metalwright.model.review import Part
from metalwright.releasing import bump, known_blueprint, new_class, release_versions, retire_version
from metalwright.review.differences import blueprint_changes, needed_part
from metalwright.review.rules import RISK_WORDS

Ref = Annotated[str, typer.Argument(metavar="NAME@VERSION", help="A version; NAME alone is its newest.")]

group = typer.Typer(name="blueprint", help="Versions of blueprints.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(group)


@group.command("new")
def new_blueprint(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The new server class.")],
    source: Annotated[str, typer.Option("--from", help="Copy this blueprint: NAME or NAME@VERSION.")],
) -> None:
    """Begin a server class as version 1.0.0, copied from another blueprint.

    What is published of such a system's acceptance tests is said beside it.
    """
    cli: CliContext = context.obj
    path = new_class(cli.site, name, source)
    typer.echo(str(path))
    for finding in floor_findings(load_model(path, Blueprint, root=cli.site).model):
        cli.err.print(_floor_note(finding))


def _floor_note(finding: FloorFinding) -> str:
    test, row = finding.test, finding.published
    own = f"{test.test}: the floor is {test.floor:g} {test.unit}; "
    if row is None:
        return f"{own}none is published for this system: take it from your first good nodes"
    return f"{own}published for {row.count} x {row.gpu} is {row.floor:g} {test.unit} ({row.measured}), {row.source}"


@group.command("bump")
def bump_blueprint(
    context: typer.Context,
    ref: Ref,
    part: Annotated[Part, typer.Option(help="What moves: patch, minor or major.")] = "minor",
) -> None:
    """Begin the next version as a copy that rolls back to this one. Edit the file, then release it."""
    cli: CliContext = context.obj
    typer.echo(str(bump(cli.site, ref, part)))


@group.command("release")
def release_blueprint(
    context: typer.Context, ref: Annotated[list[str], typer.Argument(help="NAME@VERSION, several allowed.")]
) -> None:
    """Record the bytes of a blueprint in blueprints.lock; from then on `check` refuses any change to the file.

    Its number has to say what it changes: patch for agents, labels and descriptions, minor for drivers, BIOS,
    firmware, image, network and policy, major for hardware, role, workloads and weaker acceptance tests.
    """
    cli: CliContext = context.obj
    before = read_blueprint_lock(cli.site)
    after = release_versions(cli.site, ref)
    for item in ref:
        state = "was released before, unchanged" if item in before else "released"
        typer.echo(f"{item} {state}: {after[item]}")


@group.command("retire")
def retire_blueprint(context: typer.Context, ref: Annotated[str, typer.Argument(help="NAME@VERSION.")]) -> None:
    """Remove a released version that no node, no roll-back and no known-good record names; its number stays taken."""
    cli: CliContext = context.obj
    retire_version(cli.site, ref)
    typer.echo(f"{ref} retired")


@group.command("diff")
def diff_blueprints(
    context: typer.Context,
    old: Ref,
    new: Ref,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Compare two blueprints, value by value, with what each difference does. Exit 2: they differ."""
    cli: CliContext = context.obj
    before, after = known_blueprint(cli.site, old), known_blueprint(cli.site, new)
    changes = blueprint_changes(before, after)
    if as_json:
        print_json({"schema": 1, "base": before.ref, "head": after.ref, "changes": changes})
        return 2 if changes else 0
    for item in changes:
        typer.echo(f"{item.section}: {item.path}: {item.from_ or 'not set'} → {item.to or 'not set'}")
        typer.echo(f"    {item.risk}: {RISK_WORDS[item.risk]}")
    part = needed_part(before, after)
    typer.echo(f"{before.ref} → {after.ref}: {len(changes)} difference(s), {f'a {part}' if part else 'no new'} version")
    return 2 if changes else 0
