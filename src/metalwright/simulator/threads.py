"""A service with an event loop of its own, for callers that block."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from typing import TypeVar

Served = TypeVar("Served")


@contextlib.contextmanager
def in_thread(context: contextlib.AbstractAsyncContextManager[Served], name: str, timeout_s: float) -> Iterator[Served]:
    """Enter ``context`` in a thread called ``name``; start and stop take at most ``timeout_s`` each."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name=name, daemon=True)
    thread.start()
    try:
        served = asyncio.run_coroutine_threadsafe(context.__aenter__(), loop).result(timeout_s)
        try:
            yield served
        finally:
            asyncio.run_coroutine_threadsafe(context.__aexit__(None, None, None), loop).result(timeout_s)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout_s)
        loop.close()
