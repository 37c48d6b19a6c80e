"""The local runner: turns many nodes with at most N of them at work at once. A wave limits admission, never steps.

A node that waits holds no worker, so a slow BMC or a long write delays nobody else.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from metalwright.runner.turn import NodeProgress, NodeTurner

IDLE_S = 0.2


def run_nodes(
    turners: Mapping[str, NodeTurner], *, parallel: int, let_go: Callable[[str], None] = lambda _node: None
) -> dict[str, NodeProgress]:
    """Turn every node until it is ready or has failed; ``let_go`` is told each node that is finished, at once.

    An unexpected exception in one node is raised at the end, after the others have finished.
    """
    progress = {name: NodeProgress(name) for name in turners}
    due: list[tuple[float, int, str]] = []
    order = itertools.count()
    for name in turners:
        heapq.heappush(due, (time.monotonic(), next(order), name))
    crashes: list[BaseException] = []
    with ThreadPoolExecutor(max_workers=parallel, thread_name_prefix="node") as pool:
        running: dict[Future[float], str] = {}
        while due or running:
            _submit_due(due, running, pool, turners, progress, parallel)
            finished, _ = wait(running, timeout=_pause(due), return_when=FIRST_COMPLETED)
            if not finished and not running:
                time.sleep(_pause(due))
            for future in finished:
                name = running.pop(future)
                error = future.exception()
                if error is not None:
                    crashes.append(error)
                elif progress[name].finished:
                    let_go(name)
                else:
                    heapq.heappush(due, (time.monotonic() + future.result(), next(order), name))
    if crashes:
        raise crashes[0]
    return progress


def _submit_due(
    due: list[tuple[float, int, str]],
    running: dict[Future[float], str],
    pool: ThreadPoolExecutor,
    turners: Mapping[str, NodeTurner],
    progress: dict[str, NodeProgress],
    parallel: int,
) -> None:
    while due and due[0][0] <= time.monotonic() and len(running) < parallel:
        _, _, name = heapq.heappop(due)
        running[pool.submit(turners[name].turn, progress[name])] = name


def _pause(due: list[tuple[float, int, str]]) -> float:
    if not due:
        return IDLE_S
    return min(max(due[0][0] - time.monotonic(), 0.0), IDLE_S)
