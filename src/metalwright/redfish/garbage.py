"""Reading thousands of resources makes millions of short-lived objects: looking for cycles among them costs a third.

Measured over 64 BMCs of 97 reads each: 0.075 s of CPU a BMC with Python's own thresholds, 0.049 s with these, and the
same memory (``bench/sweep.py``).
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_THRESHOLDS = (100_000, 10, 10)


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Look for cyclic garbage rarely during the block, and not among what was there before it."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
