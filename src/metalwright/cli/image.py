"""``metalwright image``: the catalogue of known images."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from metalwright.cli.context import CliContext, print_json
from metalwright.cli.packages import packages
from metalwright.imaging.catalogue import ImageCatalogue
from metalwright.imaging.image_build import build_image
from metalwright.imaging.image_recipe import load_recipe
from metalwright.loading import SitePaths
from metalwright.model.image import Image

EXIT_FINDINGS = 2
Version = Annotated[str, typer.Option("--version", help="Version of the image; it never changes afterwards.")]


def register(app: typer.Typer) -> None:
    """Add the command group."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Known images: build, add, list, verify.")
    group.command("list")(list_images)
    group.command("build")(build)
    group.command("add")(add)
    group.command("verify")(verify)
    group.command("packages")(packages)
    app.add_typer(group, name="image")


def list_images(
    context: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
) -> None:
    """List the images of the site's catalogue."""
    cli: CliContext = context.obj
    images = _catalogue(cli).list()
    if as_json:
        print_json({"schema": 1, "images": list(images)})
        return
    table = Table(box=None, pad_edge=False)
    for name in ("image", "format", "size", "file sha256", "built"):
        table.add_column(name)
    for image in images:
        built = f"{image.built:%Y-%m-%d}" if image.built else ""
        table.add_row(image.ref, image.format, _mib(image.file_size_bytes), image.file_sha256, built)
    cli.out.print(table)


def build(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Recipe under templates/image/.")],
    version: Version,
    as_json: Annotated[bool, typer.Option("--json", help="Print the entry as JSON.")] = False,
) -> None:
    """Build an image from a recipe with mmdebstrap; no root and no loop device. Nothing is done when it exists."""
    cli: CliContext = context.obj
    cli.err.print(f"building {name}@{version} (a minute or two, unless it exists) …")
    image = build_image(_catalogue(cli), load_recipe(cli.site / "templates", name), version)
    _tell(cli, image, as_json)


def add(
    context: typer.Context,
    source: Annotated[Path, typer.Argument(help="Raw image with a GPT, plain or .zst.")],
    name: Annotated[str, typer.Option(help="Name in the catalogue.")],
    version: Version,
    sha256: Annotated[str, typer.Option(help="Published SHA-256 of the file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the entry as JSON.")] = False,
) -> None:
    """Copy an image into the catalogue after comparing it with its published digest."""
    cli: CliContext = context.obj
    _tell(cli, _catalogue(cli).add(source, name=name, version=version, file_sha256=sha256), as_json)


def verify(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Read every image again and compare it with its entry. Exit 2 when one differs."""
    cli: CliContext = context.obj
    catalogue = _catalogue(cli)
    found = {image.ref: catalogue.verify(image) for image in catalogue.list()}
    if as_json:
        print_json({"schema": 1, "images": [{"image": ref, "differences": list(why)} for ref, why in found.items()]})
    else:
        for ref, differences in found.items():
            cli.out.print(f"{ref}: {'; '.join(differences) or 'as its entry says'}")
    return EXIT_FINDINGS if any(found.values()) else 0


def _catalogue(cli: CliContext) -> ImageCatalogue:
    return ImageCatalogue(SitePaths(cli.site).images)


def _tell(cli: CliContext, image: Image, as_json: bool) -> None:
    if as_json:
        print_json(image)
        return
    cli.out.print(f"{image.ref}: {_mib(image.file_size_bytes)} ({_mib(image.content_size_bytes)} on the disk)")
    cli.out.print(f"file_sha256: {image.file_sha256}")


def _mib(size_bytes: int) -> str:
    return f"{size_bytes / (1 << 20):.0f} MiB"
