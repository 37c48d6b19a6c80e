"""Loading makes hundreds of thousands of objects and no garbage: the collector would look at all of them in vain."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collection() -> Iterator[None]:
    """Without the cyclic garbage collector, which is on again afterwards if it was before. Reentrant."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
