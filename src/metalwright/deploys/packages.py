"""Packages: where they come from, and the container runtime and agents at exactly the blueprint's versions."""

from __future__ import annotations

from pyinfra import host
from pyinfra.api import deploy

from metalwright.deploys.rendering import rendered_files
from metalwright.node_files import KEYRING, apt_files
from metalwright.operations.apt import pinned
from metalwright.operations.files import rendered


@deploy("Package sources", data_defaults={"package_pins": [], "apt_sources": [], "apt_keyring": None})
def package_sources() -> None:
    """apt's settings, sources and version pins. Without ``apt_sources`` the image's own sources stay."""
    rendered(name="apt settings, sources and pins", files=_apt_files())


@deploy(
    "Packages",
    data_defaults={"package_pins": [], "test_packages": [], "called_packages": [], "allow_downgrade": False},
)
def packages() -> None:
    """The pinned packages, chrony, and what agents and tests call."""
    pinned(
        name="Pinned packages",
        pins=host.data.package_pins,
        present=["chrony", *host.data.called_packages, *host.data.test_packages],
        allow_downgrade=host.data.allow_downgrade,
    )


def _apt_files() -> list[dict[str, str]]:
    files = rendered_files(apt_files(host.data.package_pins, host.data.apt_sources))
    if host.data.apt_keyring:
        files.append({"path": KEYRING, "text": host.data.apt_keyring, "mode": "644"})
    return files
