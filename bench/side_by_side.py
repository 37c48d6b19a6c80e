"""``check`` and ``review`` of two versions of metalwright over the same site, in turns: ratios hold on a busy machine.

``python -m bench.side_by_side SRC [NODES…]`` (default 1000 10000): ``SRC`` is the ``src`` directory of the other
version. Prints JSON: for each size and command the least seconds of processor time in :data:`ROUNDS` turns of each
version, and how many turns and busy processes there were. A turn is a process of its own, with its start.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.review_scale import VERSIONS, make_site

ROUNDS = 3
COMMANDS = {"check": ["check"], "review": ["review", "HEAD~1..HEAD"], "help": ["--help"]}


def main(arguments: list[str]) -> int:
    """Measure each size."""
    sources = {"before": Path(arguments[0]).resolve(), "after": Path(__file__).parents[1] / "src"}
    load = os.getloadavg()[0]
    sizes = [_measure(int(nodes), sources) for nodes in arguments[1:] or ("1000", "10000")]
    print(json.dumps({"versions": VERSIONS, "rounds": ROUNDS, "load": round(load, 1), "sizes": sizes}, indent=2))
    return 0


def _measure(nodes: int, sources: dict[str, Path]) -> dict[str, object]:
    with tempfile.TemporaryDirectory(prefix="metalwright-bench-") as directory:
        root = Path(directory) / "site"
        make_site(root, nodes)
        times: dict[str, dict[str, list[float]]] = {name: {side: [] for side in sources} for name in COMMANDS}
        for _ in range(ROUNDS):
            for name, words in COMMANDS.items():
                for side, source in sources.items():
                    times[name][side].append(_cpu_s(source, root, words))
    least = {name: {f"{side}_cpu_s": min(found) for side, found in sides.items()} for name, sides in times.items()}
    return {"nodes": nodes, **least}


def _cpu_s(source: Path, root: Path, words: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "metalwright.cli", "--site", str(root), *words],
        env={**os.environ, "PYTHONPATH": str(source)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    if done.returncode not in (0, 2):
        raise SystemExit(done.stderr.decode())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
