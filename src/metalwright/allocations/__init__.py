"""``addresses.lock`` on disk, and who answers on the network already.

The names below are loaded when they are first used: who only reads the lock looks at no network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metalwright.first_use import on_first_use

if TYPE_CHECKING:
    from metalwright.allocations.lock_file import Reallocation, allocate_addresses, reallocate
    from metalwright.allocations.probe import Look, Probe
    from metalwright.allocations.probing import answering_addresses

__all__ = ["Look", "Probe", "Reallocation", "allocate_addresses", "answering_addresses", "reallocate"]

__getattr__ = on_first_use(
    __name__,
    {
        "lock_file": ("Reallocation", "allocate_addresses", "reallocate"),
        "probe": ("Look", "Probe"),
        "probing": ("answering_addresses",),
    },
)
