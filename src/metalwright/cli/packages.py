"""``metalwright image packages``: the package mirrors of blueprints, for nodes without internet."""

from __future__ import annotations

from typing import Annotated

import typer

from metalwright.accelerators.packages import accelerator_pins, packages_beside
from metalwright.acceptance.burn_in.tests import tool_packages
from metalwright.cli.context import CliContext, print_json
from metalwright.errors import UsageError
from metalwright.imaging.apt_sources import read_apt_sources
from metalwright.imaging.catalogue import ImageCatalogue
from metalwright.imaging.image_recipe import load_recipe
from metalwright.imaging.ordering import cache_dir
from metalwright.imaging.package_signing import PackageKey, site_package_key
from metalwright.imaging.packages import PACKAGES_DIRECTORY, fetch_packages, mirror_path, write_mirror
from metalwright.loading import SitePaths
from metalwright.loading.repository import load_site
from metalwright.model.blueprint import Blueprint
from metalwright.model.package import blueprint_pins, unpinned_packages
from metalwright.model.repository import SiteRepository


def packages(
    context: typer.Context,
    blueprints: Annotated[
        list[str] | None, typer.Argument(help="Blueprints as name@version; all that nodes are pinned to by default.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Fetch the packages that blueprints pin, with what they need beyond the image, for the boot server to serve.

    Needs the network once; nothing is done for a mirror that is complete. Nodes whose site names no `apt: sources`
    install from it.
    """
    cli: CliContext = context.obj
    repository = load_site(cli.site)
    wanted = blueprints or sorted({node.blueprint for node in repository.nodes()})
    key = site_package_key(cli.state_dir)
    mirrors = {ref: _mirror(cli, _blueprint(repository, ref), key) for ref in wanted}
    if as_json:
        print_json({"schema": 1, "mirrors": [{"blueprint": ref, "versions": found} for ref, found in mirrors.items()]})
        return
    for ref, versions in mirrors.items():
        cli.out.print(f"{ref}: {', '.join(f'{name} {version}' for name, version in versions.items()) or 'no packages'}")


def _blueprint(repository: SiteRepository, ref: str) -> Blueprint:
    blueprint = repository.blueprints.get(ref)
    if blueprint is None:
        raise UsageError("no such blueprint", where=ref, hint=f"known: {', '.join(sorted(repository.blueprints))}")
    return blueprint


def _mirror(cli: CliContext, blueprint: Blueprint, key: PackageKey) -> dict[str, str]:
    """Make the mirror of one blueprint; returns its packages and their Debian versions."""
    cli.err.print(f"packages of {blueprint.ref} (half a minute, unless they are here) …")
    image = ImageCatalogue(SitePaths(cli.site).images).get(blueprint.image.name, blueprint.image.version)
    suite = load_recipe(cli.site / "templates", blueprint.image.name).suite
    fetched = fetch_packages(
        (*blueprint_pins(blueprint), *accelerator_pins(blueprint)),
        cache_dir() / PACKAGES_DIRECTORY,
        sources=read_apt_sources(suite),
        installed=image.packages,
        called=(
            *unpinned_packages(blueprint),
            *packages_beside(blueprint, image.packages),
            *tool_packages(blueprint),
        ),
    )
    write_mirror(fetched, cli.state_dir / mirror_path(blueprint), key)
    return fetched.versions
