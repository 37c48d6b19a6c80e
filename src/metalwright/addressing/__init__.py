"""Networks × nodes × the lock of today → the lock of tomorrow. Pure: no file, no clock, no network."""

from metalwright.addressing.allocation import Allocated, allocate
from metalwright.addressing.explanation import Explanation, explain, hosts_file
from metalwright.addressing.needs import Need, needs_of

__all__ = ["Allocated", "Explanation", "Need", "allocate", "explain", "hosts_file", "needs_of"]
