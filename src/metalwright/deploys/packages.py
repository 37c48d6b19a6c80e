"""Packages: where they come from, and the container runtime and agents at exactly the blueprint's versions."""

from __future__ import annotations

from typing import Any

from pyinfra import host
from pyinfra.api import deploy

from metalwright.connectors.nodes import KEYRING
from metalwright.deploys.rendering import node_file
from metalwright.model.package import PackagePin
from metalwright.operations.apt import LOCK_TIMEOUT_S, pinned
from metalwright.operations.files import rendered


@deploy(
    "Packages", data_defaults={"package_pins": [], "apt_sources": [], "apt_keyring": None, "allow_downgrade": False}
)
def packages() -> None:
    """apt's settings, sources and version pins; then the pinned packages, and chrony.

    Without ``apt_sources`` the image's own sources stay.
    """
    rendered(name="apt settings, sources and pins", files=_apt_files())
    pinned(
        name="Pinned packages",
        pins=host.data.package_pins,
        present=["chrony"],
        allow_downgrade=host.data.allow_downgrade,
    )


def _apt_files() -> list[dict[str, str]]:
    data = host.data
    files = [
        node_file("apt.conf.j2", "/etc/apt/apt.conf.d/50metalwright", lock_timeout_s=LOCK_TIMEOUT_S),
        node_file(
            "apt.preferences.j2",
            "/etc/apt/preferences.d/metalwright",
            package_pins=[_with_pattern(pin) for pin in data.package_pins],
        ),
    ]
    if data.apt_sources:
        files.append(node_file("sources.list.j2", "/etc/apt/sources.list", apt_sources=data.apt_sources))
    if data.apt_keyring:
        files.append({"path": KEYRING, "text": data.apt_keyring, "mode": "644"})
    return files


def _with_pattern(pin: dict[str, Any]) -> dict[str, Any]:
    return {"name": pin["name"], "pattern": PackagePin.model_validate(pin).pattern}
