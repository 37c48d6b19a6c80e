"""Ways to start the deploy ramdisk: what a blueprint may declare, what a BMC offers, and which one is taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

BootMethod = Literal["virtual-media", "uefi-http", "pxe"]


@dataclass(frozen=True)
class BootCapabilities:
    """What a BMC shows of starting its host; ``targets`` of the boot override are None where it lists none.

    ``takes_http_uri``: it has a place for the URL of an HTTP boot, be it the standard's or the maker's own.
    """

    has_virtual_cd: bool
    takes_http_uri: bool
    targets: frozenset[str] | None = None


@dataclass(frozen=True)
class BootChoice:
    """The ``method`` taken, None where none can be; ``why_not`` says of each other declared one why it is not."""

    method: BootMethod | None
    why_not: tuple[tuple[BootMethod, str], ...] = ()

    def others(self) -> str:
        """The reasons in words, for people: ``virtual-media: this BMC has no virtual CD; …``."""
        return "; ".join(f"{method}: {reason}" for method, reason in self.why_not)
