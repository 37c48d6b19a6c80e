"""``metalwright image``: the catalogue of known images."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from metalwright.cli.context import CliContext, print_json
from metalwright.cli.image_gc import gc, tell_empty
from metalwright.cli.packages import packages
from metalwright.cli.tables import print_table
from metalwright.errors import ImageError, UsageError
from metalwright.imaging.catalogue import ImageCatalogue, parse_image_ref
from metalwright.imaging.image_build import build_image
from metalwright.imaging.image_intake import Intake, take_image
from metalwright.imaging.image_recipe import load_recipe
from metalwright.imaging.image_trust import ImageTrust, image_trust, site_image_signer
from metalwright.loading import SitePaths, load_model
from metalwright.model.image import Image
from metalwright.model.site import Site

EXIT_FINDINGS = 2
Version = Annotated[str, typer.Option("--version", help="Version of the image; it never changes afterwards.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app: typer.Typer) -> None:
    """Add the command group."""
    group = typer.Typer(
        no_args_is_help=True, rich_markup_mode=None, help="Known images: build, add, sign, list, verify."
    )
    group.command("list")(list_images)
    group.command("build")(build)
    group.command("add")(add)
    group.command("sign")(sign)
    group.command("verify")(verify)
    group.command("key")(key)
    group.command("gc")(gc)
    group.command("packages")(packages)
    app.add_typer(group, name="image")


def list_images(context: typer.Context, as_json: AsJson = False) -> None:
    """List the images of the site's catalogue, and who vouches for each."""
    cli: CliContext = context.obj
    catalogue, trust = _catalogue(cli), _trust(cli)
    images = catalogue.list()
    vouched = {image.ref: _vouched(catalogue, trust, image) for image in images}
    if as_json:
        told = [{**image.to_json(), "vouched_by": vouched[image.ref][0]} for image in images]
        print_json({"schema": 1, "images": told})
        return
    table = Table(box=None, pad_edge=False)
    for name in ("image", "for", "format", "size", "disk", "Secure Boot", "vouched for by", "file sha256"):
        table.add_column(name)
    for image in images:
        chain = "signed" if image.has_signed_chain else "-"
        sizes = (_mib(image.file_size_bytes), _mib(image.content_size_bytes))
        by = vouched[image.ref][1]
        table.add_row(image.ref, image.architecture, image.format, *sizes, chain, by, image.file_sha256)
    print_table(cli.out, table)


def build(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Recipe under templates/image/.")],
    version: Version,
    as_json: Annotated[bool, typer.Option("--json", help="Print the entry as JSON.")] = False,
) -> None:
    """Build an image from a recipe with mmdebstrap; no root and no loop device. Nothing is done when it exists.

    What is built here is signed with the site's own key.
    """
    cli: CliContext = context.obj
    cli.err.print(f"building {name}@{version} (a minute or two, unless it exists) …")
    recipe, signer = load_recipe(cli.site / "templates", name), site_image_signer(cli.state_dir)
    _tell(cli, build_image(_catalogue(cli), recipe, version, signer=signer), as_json)


def add(
    context: typer.Context,
    source: Annotated[str, typer.Argument(metavar="FILE|URL", help="Disk with a GPT: raw, raw in zstd, or qcow2.")],
    name: Annotated[str, typer.Option(help="Name in the catalogue.")],
    version: Version,
    sha256: Annotated[str | None, typer.Option(metavar="DIGEST", help="Published SHA-256 or SHA-512.")] = None,
    checksums: Annotated[
        str | None, typer.Option(metavar="FILE|URL", help="Published checksum file: SHA256SUMS, SHA512SUMS, CHECKSUM.")
    ] = None,
    checksum_name: Annotated[
        str | None, typer.Option(metavar="NAME", help="What the checksum file calls the image.")
    ] = None,
    signature: Annotated[
        str | None, typer.Option(metavar="FILE|URL", help="Its minisign signature; FILE.minisig is found by itself.")
    ] = None,
    vouch: Annotated[str | None, typer.Option(metavar="WHY", help="Vouch for it yourself, and say why.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the entry as JSON.")] = False,
) -> None:
    """Take an image into the catalogue after comparing it with what its publisher says; qcow2 is converted.

    Nothing is taken without a digest or a trusted signature, nor without somebody who vouches for it.
    """
    cli: CliContext = context.obj
    wanted = Intake(source, name, version, sha256, checksums, checksum_name, signature, vouch)
    trust = _trust(cli)
    _tell(cli, take_image(_catalogue(cli), wanted, trust, site_image_signer(cli.state_dir)), as_json)


def sign(
    context: typer.Context,
    image: Annotated[str, typer.Argument(metavar="NAME@VERSION", help="Image in the catalogue.")],
    why: Annotated[str, typer.Option("--why", help="Why it can be trusted; goes into the signature.")],
) -> None:
    """Vouch for an image in the catalogue with the site's own key, after reading it whole."""
    cli: CliContext = context.obj
    if not why.strip():
        raise UsageError("--why wants a reason", where=image, expected="why this image can be trusted")
    catalogue = _catalogue(cli)
    found = catalogue.get(*parse_image_ref(image))
    differences = catalogue.verify(found)
    if differences:
        raise ImageError("the image is not what its entry says", where=found.ref, found="; ".join(differences))
    signer = site_image_signer(cli.state_dir)
    signer.sign(catalogue.entry_path(found), f"{found.ref}: vouched for: {why}")
    cli.out.print(f"{found.ref}: vouched for by this site, key {signer.public.id}")


def verify(context: typer.Context, as_json: AsJson = False) -> int:
    """Read every image again, compare it with its entry, and check who vouches for it. Exit 2 when one fails."""
    cli: CliContext = context.obj
    catalogue, trust = _catalogue(cli), _trust(cli)
    found = {image.ref: (*catalogue.verify(image), *_distrust(catalogue, trust, image)) for image in catalogue.list()}
    if as_json:
        print_json({"schema": 1, "images": [{"image": ref, "differences": list(why)} for ref, why in found.items()]})
    else:
        for ref, differences in found.items():
            cli.out.print(f"{ref}: {'; '.join(differences) or 'as its entry says'}")
        tell_empty(cli, has_images=bool(found))
    return EXIT_FINDINGS if any(found.values()) else 0


def key(context: typer.Context) -> None:
    """Print the site's public key for images, as other sites write it under images.trusted_keys. Made at first use."""
    cli: CliContext = context.obj
    load_model(SitePaths(cli.site).site, Site, root=cli.site)  # a mistyped --site gets no key
    typer.echo(site_image_signer(cli.state_dir).public.text)


def _catalogue(cli: CliContext) -> ImageCatalogue:
    return ImageCatalogue(SitePaths(cli.site).images)


def _trust(cli: CliContext) -> ImageTrust:
    """Whom the site trusts; the rest of its files may be wrong."""
    site = load_model(SitePaths(cli.site).site, Site, root=cli.site).model
    return image_trust(site, cli.state_dir)


def _vouched(catalogue: ImageCatalogue, trust: ImageTrust, image: Image) -> tuple[str | None, str]:
    """Who vouches, for programs and for people."""
    try:
        found = trust.voucher(catalogue.entry_path(image), image.ref)
    except ImageError as error:
        return None, f"REFUSED: {error.found or error.what}"
    return (found.by, found.by) if found else (None, "nobody (allowed)")


def _distrust(catalogue: ImageCatalogue, trust: ImageTrust, image: Image) -> tuple[str, ...]:
    try:
        trust.voucher(catalogue.entry_path(image), image.ref)
    except ImageError as error:
        return (f"{error.what}: {error.found}",)
    return ()


def _tell(cli: CliContext, image: Image, as_json: bool) -> None:
    if as_json:
        print_json(image)
        return
    cli.out.print(f"{image.ref}: {_mib(image.file_size_bytes)} ({_mib(image.content_size_bytes)} on the disk)")
    cli.out.print(f"file_sha256: {image.file_sha256}")


def _mib(size_bytes: int) -> str:
    return f"{size_bytes / (1 << 20):.0f} MiB"
