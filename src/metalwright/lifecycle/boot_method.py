"""Which way the deploy ramdisk is started: the first that the blueprint declares, the BMC offers and the site allows.

The order of the blueprint is the order of trust as well: virtual media and UEFI HTTP boot carry the nonce through the
node's own BMC, PXE carries nothing (docs/explanation/threats.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metalwright.model.boot import BootCapabilities, BootChoice, BootMethod
from metalwright.model.rack import Node
from metalwright.model.site import Site

NO_VIRTUAL_CD = "this BMC has no virtual CD"
NO_HTTP_TARGET = "this BMC allows no boot target UefiHttp"
NO_HTTP_URI = "this BMC has no place for the URL of an HTTP boot"
NO_PXE_TARGET = "this BMC allows no boot target Pxe"
PXE_NOT_ALLOWED = "site.yaml does not allow it (network_boot.pxe)"
PXE_KEYS_MISSING = "the node declares no port MAC, or neither serial nor UUID"


def choose_boot_method(
    declared: Sequence[BootMethod], offered: BootCapabilities, barred: Mapping[BootMethod, str] | None = None
) -> BootChoice:
    """Return the first way of ``declared`` that works; ``barred`` are those that site or node rule out, and why."""
    chosen: BootMethod | None = None
    why_not: list[tuple[BootMethod, str]] = []
    for method in declared:
        reason = (barred or {}).get(method) or _missing(method, offered)
        if chosen is None and reason is None:
            chosen = method
        else:
            why_not.append((method, reason or f"{chosen} comes first"))
    return BootChoice(chosen, tuple(why_not))


def barred_methods(site: Site, node: Node) -> dict[BootMethod, str]:
    """What site and node rule out, whatever the BMC offers: PXE is opt-in and needs keys that the ramdisk can see."""
    if not site.network_boot.pxe:
        return {"pxe": PXE_NOT_ALLOWED}
    has_key = any(key in node.identity for key in ("serial", "uuid"))
    return {} if node.ports and has_key else {"pxe": PXE_KEYS_MISSING}


def _missing(method: BootMethod, offered: BootCapabilities) -> str | None:
    """Return what the BMC lacks for ``method``; targets that it does not list may exist."""
    targets = offered.targets
    match method:
        case "virtual-media":
            return None if offered.has_virtual_cd else NO_VIRTUAL_CD
        case "uefi-http":
            if targets is not None and "UefiHttp" not in targets:
                return NO_HTTP_TARGET
            return None if offered.takes_http_uri else NO_HTTP_URI
        case "pxe":
            return None if targets is None or "Pxe" in targets else NO_PXE_TARGET
