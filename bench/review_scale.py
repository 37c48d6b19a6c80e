"""How long a big site takes, and how that grows: ``check``, ``review`` of one changed line, the pure part of ``plan``.

``python -m bench.review_scale [NODES…] [--out FILE]`` (default 1000 10000). Each command runs :data:`ROUNDS` times, in
turns, each time in a process of its own with its start; the least seconds of processor time and on the clock are
reported, and the largest resident size. ``growth`` is the last size divided by the first. Prints JSON, and writes it to
FILE. Takes about two minutes on an idle machine. Targets on two idle cores at 10,000 nodes: check 3 s, review 2 s, plan
10 s and 500 MB.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.fleet_site import make_fleet, node_name

VERSIONS = 200
ROUNDS = 3
Figures = dict[str, float]
GIT = ("git", "-c", "user.name=bench", "-c", "user.email=bench@example.net")


def main(arguments: list[str]) -> int:
    """Measure each size, or (with ``--plan ROOT``) one plan in this process."""
    if arguments[:1] == ["--plan"]:
        return _plan(Path(arguments[1]))
    out = Path(arguments.pop(arguments.index("--out") + 1)) if "--out" in arguments else None
    sizes = [int(word) for word in arguments if word != "--out"] or [1000, 10000]
    load = os.getloadavg()[0]
    measured = {nodes: _measure(nodes) for nodes in sizes}
    first, last = measured[sizes[0]], measured[sizes[-1]]
    result = {
        "versions": VERSIONS,
        "rounds": ROUNDS,
        "load_before": round(load, 1),
        "sizes": [{"nodes": nodes, **figures} for nodes, figures in measured.items()],
        "growth": {
            "nodes": sizes[-1] / sizes[0],
            **{name: {key: round(last[name][key] / first[name][key], 1) for key in last[name]} for name in last},
        },
    }
    text = json.dumps(result, indent=2) + "\n"
    if out is not None:
        out.write_text(text, encoding="utf-8")
    print(text, end="")
    return 0


def _measure(nodes: int) -> dict[str, Figures]:
    with tempfile.TemporaryDirectory(prefix="metalwright-bench-") as directory:
        root = Path(directory) / "site"
        make_site(root, nodes)
        command = [sys.executable, "-m", "metalwright.cli", "--site", str(root)]
        commands = {
            "check": [*command, "check"],
            "review": [*command, "review", "HEAD~1..HEAD"],
            "plan": [sys.executable, "-m", "bench.review_scale", "--plan", str(root)],
        }
        turns = [{name: _timed(words) for name, words in commands.items()} for _ in range(ROUNDS)]
    return {name: {key: min(turn[name][key] for turn in turns) for key in turns[0][name]} for name in commands}


def make_site(root: Path, nodes: int) -> None:
    """A site under git whose last commit moves one node to another version."""
    make_fleet(root, nodes, VERSIONS)
    _git(root, "init", "-qb", "main")
    _commit(root)
    rack = root / "inventory/racks/r0000.yaml"
    text = rack.read_text(encoding="utf-8")
    rack.write_text(text.replace("class-00@1.9.0", "class-00@1.8.0", 1), encoding="utf-8")
    _commit(root)


def _plan(root: Path) -> int:
    """Load the site, observe every node as one whose BIOS differs, and write the plan: everything but the network."""
    from metalwright import __version__
    from metalwright.lifecycle.observations import AttributeChange, BiosObservation
    from metalwright.loading import load_site
    from metalwright.model.digests import canonical_json, recipe_digest
    from metalwright.model.phase import Phase
    from metalwright.planning import Desired, make_plan, network_inputs, place_inputs, plan_node, shared_inputs

    repository = load_site(root)
    shared = shared_inputs(repository)
    seen = {Phase.BIOS: BiosObservation("r", to_write=(AttributeChange("NUMA", "Off", "On"),)).changes()}
    desired = []
    for node in repository.nodes():
        blueprint, addresses = repository.blueprint_of(node.name), repository.addresses.of_node(node.name)
        place, networks = place_inputs(repository.rack_of(node.name)), network_inputs(repository, node)
        own = {"node": node.recipe_inputs(), "addresses": addresses, "place": place, "networks": networks}
        inputs = {**own, **shared}
        recipe = recipe_digest(blueprint, inputs, repository.tree_digest, __version__)
        desired.append(Desired(node, blueprint, recipe, addresses, f"D-{node.name}", place, networks, shared))
    plan = make_plan(desired, [plan_node(item, seen, {}) for item in desired])
    (root / "plan.json").write_bytes(canonical_json(plan))
    assert plan.nodes[0].node == node_name(0)
    return 0


def _timed(command: list[str]) -> Figures:
    """One process, with what it started and waited for. A size is that of the process itself."""
    begun = time.monotonic()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        clock_s = time.monotonic() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 2):
            said.seek(0)
            raise SystemExit(said.read().decode())
    return {
        "cpu_s": round(used.ru_utime + used.ru_stime, 2),
        "clock_s": round(clock_s, 2),
        "largest_mib": round(used.ru_maxrss / 1024),
    }


def _commit(root: Path) -> None:
    _git(root, "add", "-A")
    _git(root, "commit", "-qm", "state")


def _git(root: Path, *arguments: str) -> None:
    subprocess.run([*GIT, "-C", str(root), *arguments], check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
