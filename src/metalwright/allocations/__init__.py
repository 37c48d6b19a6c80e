"""``addresses.lock`` on disk, and who answers on the network already."""

from metalwright.allocations.lock_file import Reallocation, allocate_addresses, reallocate
from metalwright.allocations.probing import Look, Probe, answering_addresses

__all__ = ["Look", "Probe", "Reallocation", "allocate_addresses", "answering_addresses", "reallocate"]
