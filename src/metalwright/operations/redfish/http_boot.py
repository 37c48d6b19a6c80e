"""UEFI HTTP boot, for BMCs without virtual media: the standard's property where it is taken, else the maker's own."""

from __future__ import annotations

from typing import Any

from pyinfra import logger
from pyinfra.api.operation import operation
from pyinfra.context import host

from metalwright.facts.redfish import BiosAttributes, BootOverride
from metalwright.operations.redfish.boot import SETTLE_S
from metalwright.operations.redfish.requests import (
    Commands,
    Proof,
    contained,
    line,
    look,
    patch,
    refuse,
    show_diff,
    unreadable,
)

TARGET = "UefiHttp"


@operation()
@contained
def boot(url: str, settings: dict[str, str] | None = None) -> Commands:
    """Start once from ``url`` over HTTP.

    ``settings`` are BIOS attributes that must stand for it, such as the port to use; firmware is known to put them
    back when a NIC was missing once, so they are asserted before every such boot.
    """
    yield from boot_commands(url, settings or {})


def boot_commands(url: str, settings: dict[str, str]) -> Commands:
    """Yield what makes the next boot one over HTTP."""
    seen, bios = look(BootOverride), look(BiosAttributes)
    if seen is None:
        yield unreadable("its boot override")
        return
    if seen["allowed"] is not None and TARGET not in seen["allowed"]:
        yield refuse(f"this BMC offers no HTTP boot: it allows {', '.join(seen['allowed'])}")
        return
    attributes = bios["attributes"] if bios else {}
    now = {**attributes, **((bios["pending"] or {}) if bios else {})}
    wrong = {name: value for name, value in settings.items() if now.get(name) != value}
    show_diff(
        [line(name, now.get(name), value) for name, value in wrong.items()]
        + [
            line("boot target", seen["target"], TARGET),
            line("HTTP boot", "none" if seen["http_uri"] == "" else seen["http_uri"], url),
        ]
    )
    for key, value in wrong.items():
        host.log(f"{key} is {now.get(key)!r}, not {value!r}: was a NIC missing at the last boot?", logger.warning)
    yield from _assert_settings(bios, settings, wrong)
    override: dict[str, Any] = {"BootSourceOverrideTarget": TARGET, "BootSourceOverrideEnabled": "Once"}
    name = next((item for item in seen["behaviour"]["http_boot_attributes"] if item in attributes), None)
    body = {"Boot": {**override, "HttpBootUri": url}}
    if seen["is_http_uri_shown"] or name is None:
        yield patch(seen["uri"], body, proof=Proof(body, within_s=SETTLE_S, is_required=name is None, hint=_HINT))
        if name is None:
            return
        if (look(BootOverride) or {}).get("http_uri") == url:
            return
    if bios is None or bios["settings_uri"] is None or name is None:
        yield refuse("this BMC offers no place for the URL of an HTTP boot")
        return
    change = {"Attributes": {name: url}}
    yield patch(bios["settings_uri"], change, proof=Proof(change, within_s=SETTLE_S, hint=_HINT))
    yield patch(seen["uri"], {"Boot": override}, proof=Proof({"Boot": override}, within_s=SETTLE_S, hint=_HINT))


_HINT = "HTTP boot is not offered; boot.method of the blueprint names other ways to start the ramdisk"


def _assert_settings(bios: dict[str, Any] | None, settings: dict[str, str], wrong: dict[str, str]) -> Commands:
    """Yield the attributes that are not, or no longer, as they must be for an HTTP boot."""
    if settings and (bios is None or bios["settings_uri"] is None):
        yield refuse(f"this BMC offers no place for {', '.join(settings)}")
        return
    if bios is None or not wrong:
        return
    yield patch(bios["settings_uri"], {"Attributes": wrong}, proof=Proof({"Attributes": wrong}, within_s=SETTLE_S))
