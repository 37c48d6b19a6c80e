"""Image recipes: what a base image is made of, as operators write it in ``templates/image/<name>.yaml``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, StringConstraints, model_serializer

from metalwright.errors import ImageError
from metalwright.loading.models import load_model
from metalwright.model.base import Frozen, Positive, Slug, Text

PackageName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.+-]+$")]
UnitName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9@:._-]+$")]


class RecipeKernel(Frozen):
    """The kernel package; ``initramfs`` false needs a kernel that has root disk and file system drivers built in."""

    package: PackageName
    initramfs: bool


class RecipeFile(Frozen):
    """A file of the image, owned by root; it replaces a file of a package."""

    path: Annotated[str, StringConstraints(pattern=r"^/[^\x00]+$")]
    mode: Annotated[str, StringConstraints(pattern=r"^0[0-7]{3}$")] = "0644"
    text: Text


class ImageRecipe(Frozen):
    """Everything that ``image build`` needs beside a mirror.

    ``secure_boot``: firmware starts Debian's signed shim, that the signed GRUB, and that the kernel, which must be one
    of Debian's signed ones; without it firmware starts the kernel itself, signed by nobody.
    ``esp_mib`` is the EFI system partition, ``free_mib`` what is left free in the root file system before it grows.
    """

    schema_version: Literal[1] = Field(alias="schema")
    name: Slug
    suite: Slug
    kernel: RecipeKernel
    packages: tuple[PackageName, ...]
    cmdline: Text
    esp_mib: Positive = 33
    free_mib: Positive = 64
    secure_boot: bool = False
    enable: tuple[UnitName, ...] = ()
    mask: tuple[UnitName, ...] = ()
    files: tuple[RecipeFile, ...] = ()

    @model_serializer(mode="wrap")
    def _without_what_is_new(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Recipes written before Secure Boot keep their digest."""
        data: dict[str, Any] = handler(self)
        return data if self.secure_boot else {key: value for key, value in data.items() if key != "secure_boot"}


def load_recipe(templates: Path, name: str) -> ImageRecipe:
    """Read ``templates/image/<name>.yaml``.

    Raises :class:`ImageError` for an unknown name, :class:`LoadingError` for a broken file.
    """
    directory = templates / "image"
    path = directory / f"{name}.yaml"
    if not path.is_file():
        known = sorted(entry.stem for entry in directory.glob("*.yaml"))
        raise ImageError(
            f"no recipe for image {name}",
            where=str(path),
            expected=", ".join(known) or "a recipe",
            hint="copy a recipe that metalwright ships (metalwright init in an empty directory)",
        )
    return load_model(path, ImageRecipe, root=templates.parent).model
