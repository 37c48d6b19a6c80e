"""Blueprints that want Secure Boot, judged offline: does the image have a signed boot chain?"""

from __future__ import annotations

from collections.abc import Iterator

from metalwright.errors import ImageError, LoadingError
from metalwright.loading import SitePaths, load_model
from metalwright.model.blueprint import Blueprint
from metalwright.model.repository import SiteRepository


def boot_chain_errors(paths: SitePaths, repository: SiteRepository) -> Iterator[LoadingError]:
    """Secure Boot without a signed chain: by the image in the catalogue, else by the recipe of that name."""
    for ref, blueprint in sorted(repository.blueprints.items()):
        why = _missing(paths, blueprint) if blueprint.boot.secure_boot else None
        if why is None:
            continue
        source = load_model(paths.blueprint(ref), Blueprint, root=paths.root)
        error = LoadingError(
            "Secure Boot cannot be promised: the image has no signed boot chain",
            where=source.where("boot", "secure_boot"),
            expected="a shim that Microsoft signed, and a signed boot loader after it",
            found=why,
            hint="build it from a recipe with secure_boot: true; firmware refuses this one once it is written",
        )
        error.rule = "secure-boot"
        yield error


def _missing(paths: SitePaths, blueprint: Blueprint) -> str | None:
    from metalwright.imaging.catalogue import ImageCatalogue  # loads signatures, which no other review needs

    pin = blueprint.image
    try:
        image = ImageCatalogue(paths.images).get(pin.name, pin.version)
    except ImageError:
        return _unsigned_recipe(paths, pin.name)
    if image.has_signed_chain:
        return None
    signed = [f"{item.file} signed by {item.signers[0].name}" for item in image.boot_programs if item.signers]
    return f"{image.ref}: {', '.join(signed) or 'nothing that firmware starts is signed'}"


def _unsigned_recipe(paths: SitePaths, name: str) -> str | None:
    from metalwright.imaging.image_recipe import load_recipe  # as above

    try:
        recipe = load_recipe(paths.templates, name)
    except (ImageError, LoadingError) as error:
        return f"the image is not in the catalogue, and: {error.what}"
    return None if recipe.secure_boot else f"templates/image/{name}.yaml without secure_boot: true"
