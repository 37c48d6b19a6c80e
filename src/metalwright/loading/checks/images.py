"""Image pins against the local catalogue, where there is one."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import ValidationError

from metalwright.errors import LoadingError
from metalwright.loading.checks.nodes import each_node
from metalwright.loading.files import read_text
from metalwright.loading.models import Loaded
from metalwright.loading.site_files import SiteFiles
from metalwright.model.blueprint import Blueprint
from metalwright.model.image import Image


def check_images(files: SiteFiles) -> Iterator[LoadingError]:
    """A pinned digest is that of the catalogue's entry; an image that is not here is no error, it may be elsewhere."""
    used = {node.blueprint for _, _, node in each_node(files)}
    for ref in sorted(used & files.blueprints.keys()):
        yield from _pin(files, files.blueprints[ref])


def _pin(files: SiteFiles, blueprint: Loaded[Blueprint]) -> Iterator[LoadingError]:
    pin = blueprint.model.image
    path = files.paths.images / pin.name / pin.version / "image.json"
    if not path.is_file():
        return
    try:
        image = Image.model_validate_json(read_text(path, root=files.paths.images))
    except LoadingError as error:
        yield error
        return
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        yield LoadingError(
            "unreadable catalogue entry", where=str(path), found=f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        )
        return
    if image.file_sha256 != pin.file_sha256:
        yield LoadingError(
            f"{blueprint.model.ref} pins another {pin.name} {pin.version} than the catalogue holds",
            where=blueprint.where("image", "file_sha256"),
            expected=f"{image.file_sha256} ({path})",
            found=pin.file_sha256,
            hint="an image version is built once; a new build is a new version and a new blueprint",
        )
    smallest_bytes = blueprint.model.system_drive.min_bytes
    if image.content_size_bytes > smallest_bytes:
        yield LoadingError(
            f"{blueprint.model.ref} allows system drives that its image does not fit on",
            where=blueprint.where("image", "version"),
            expected=f"a disk in the image of at most {smallest_bytes} bytes (hardware.drives, min_bytes)",
            found=f"{image.content_size_bytes} bytes ({path})",
            hint="raise min_bytes, or make the image smaller; it grows to the end of its disk anyway",
        )
