"""``metalwright image gc``: what of the catalogue nobody counts on any more."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from metalwright.cli.context import CliContext, print_json
from metalwright.imaging.catalogue import ImageCatalogue
from metalwright.imaging.image_keeping import Collection, collect, look_over
from metalwright.imaging.scratch import remove_tree
from metalwright.workspace import open_workspace

_SHOWN_REASONS = 3


def gc(
    context: typer.Context,
    delete: Annotated[bool, typer.Option("--delete", help="Remove them; without it they are only listed.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the images that nothing names, and why each of the others stays; with --delete remove them.

    An image stays while a blueprint in use, the last good state of any node, an unfinished run or a grant names it.
    What killed commands left behind goes as well.
    """
    cli: CliContext = context.obj
    with open_workspace(cli.site) as workspace:
        catalogue = ImageCatalogue(workspace.paths.images)
        found = look_over(workspace, catalogue)
        if delete:
            for image in found.unneeded:
                collect(workspace, catalogue, image)
            for path in found.leftovers:
                remove_tree(path)
    if as_json:
        print_json(_as_json(found, is_deleted=delete))
    else:
        _print(cli, found, is_deleted=delete)


def _print(cli: CliContext, found: Collection, *, is_deleted: bool) -> None:
    table = Table(box=None, pad_edge=False)
    for name in ("image", "size", "", "why"):
        table.add_column(name)
    for image, reasons in found.verdicts:
        more = f"; and {len(reasons) - _SHOWN_REASONS} more" if len(reasons) > _SHOWN_REASONS else ""
        why = "; ".join(reasons[:_SHOWN_REASONS]) + more if reasons else "nothing names it"
        verdict = "stays" if reasons else "deleted" if is_deleted else "may go"
        table.add_row(image.ref, f"{image.file_size_bytes / (1 << 20):.0f} MiB", verdict, why)
    for path in found.leftovers:
        table.add_row(str(path), "", "deleted" if is_deleted else "may go", "a killed command left it")
    if table.row_count:
        cli.out.print(table)
    tell_empty(cli, has_images=bool(found.verdicts))
    freed = sum(image.file_size_bytes for image in found.unneeded) / (1 << 20)
    if not is_deleted and (found.unneeded or found.leftovers):
        cli.err.print(f"\nhint: metalwright image gc --delete frees {freed:.0f} MiB")


def _as_json(found: Collection, *, is_deleted: bool) -> dict[str, object]:
    return {
        "schema": 1,
        "deleted": is_deleted,
        "images": [{"image": image.ref, "stays_because": list(reasons)} for image, reasons in found.verdicts],
        "leftovers": [str(path) for path in found.leftovers],
    }


def tell_empty(cli: CliContext, *, has_images: bool) -> None:
    """Say that there is no image, where a command would print nothing."""
    if not has_images:
        cli.err.print("no image is in the catalogue; `metalwright image build` or `image add` brings one")
