"""What `metalwright init` wrote for an example and nobody replaced."""

from __future__ import annotations

from collections.abc import Iterator

from metalwright.errors import LoadingError
from metalwright.loading.site_files import SiteFiles

PLACEHOLDER = "replace-me"
"""Stands, in any case, in each value of a new site that only its owner can know."""


def warn_of_placeholders(files: SiteFiles) -> Iterator[LoadingError]:
    """Serials of nodes and SSH keys of people with sudo that are still those of a new site."""
    if files.site is not None:
        for number, admin in enumerate(files.site.model.admins):
            for index, key in enumerate(admin.authorized_keys):
                if PLACEHOLDER in key.lower():
                    yield LoadingError(
                        f"the SSH key of {admin.name} is the example of a new site; it would get sudo on every node",
                        where=files.site.where("admins", number, "authorized_keys", index),
                        hint="put your own public key there, such as the line in ~/.ssh/id_ed25519.pub",
                    )
    for rack in files.racks:
        for number, node in enumerate(rack.model.nodes):
            if node.serial is not None and PLACEHOLDER in node.serial.lower():
                yield LoadingError(
                    f"the serial of {node.name} is the example of a new site",
                    where=rack.where("nodes", number, "serial"),
                    hint="copy serial, UUID and BMC MAC from the sticker of the server",
                )
