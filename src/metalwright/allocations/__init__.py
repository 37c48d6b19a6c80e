"""``addresses.lock`` on disk, and who answers on the network already.

The names below are loaded when they are first used: who only reads the lock looks at no network.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metalwright.allocations.lock_file import Reallocation, allocate_addresses, reallocate
    from metalwright.allocations.probe import Look, Probe
    from metalwright.allocations.probing import answering_addresses

__all__ = ["Look", "Probe", "Reallocation", "allocate_addresses", "answering_addresses", "reallocate"]

_MODULES = {
    "lock_file": ("Reallocation", "allocate_addresses", "reallocate"),
    "probe": ("Look", "Probe"),
    "probing": ("answering_addresses",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
