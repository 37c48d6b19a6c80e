"""The page of acceptance tests, from the catalogue."""

from __future__ import annotations

from pathlib import Path

from metalwright.acceptance.burn_in.measurement import Measurement, Situation
from metalwright.acceptance.burn_in.tests import BURN_IN
from metalwright.acceptance.catalogue import KNOWN_TESTS
from metalwright.acceptance.floors import published_floors
from metalwright.model.workloads import WORKLOAD_TESTS

OUTPUTS = Path(__file__).resolve().parents[2] / "tests" / "unit" / "acceptance" / "outputs"
_LEAD = """\
# Acceptance tests

The tests that a blueprint may name under `acceptance`, each with the only unit that its floor may have. [How to accept
a node](../how-to/accept-a-node.md).

| test | measures | unit | load | needs |
|---|---|---|---|---|
"""
_NEEDS = {"gpus": "GPUs", "peer": "`acceptance_peer` of the site", "rdma": "RDMA devices"}


def render() -> str:
    """The page, as Markdown."""
    return f"{_LEAD}{_rows()}\n{_commands()}\n{_outputs()}\n{_floors()}\n{_workloads()}"


def _rows() -> str:
    rows = []
    for name, known in sorted(KNOWN_TESTS.items()):
        test = BURN_IN.get(name)
        load = f"{test.seconds} s" if test is not None and test.is_load else ""
        needs = ", ".join(_NEEDS[need] for need in sorted(test.needs)) if test is not None else ""
        rows.append(f"| `{name}` | {known.what} | {known.unit or ''} | {load} | {needs} |\n")
    return "".join(rows)


def _commands() -> str:
    rows = [line for name, test in sorted(BURN_IN.items()) for line in _command_rows(name, test)]
    return (
        "## What is run on the node\n\n"
        "For a node with eight GPUs, the disk `nvme0n1` and the RDMA device `mlx5_0`. The load runs as long as the\n"
        "test says, or `seconds` of the blueprint where the command takes it. The number is read from what the tool\n"
        "prints and counts only when the tool ended with 0 as well. A tool that is not there is NOT-RUN, one that\n"
        "hangs is killed and FAIL.\n\n"
        "| test | GPUs | package | command |\n|---|---|---|---|\n" + "".join(rows)
    )


def _command_rows(name: str, test: Measurement) -> list[str]:
    rows = []
    for vendor, variant in sorted(test.variants.items()):
        situation = Situation(test.seconds, vendor or None, 8, "PEER", "nvme0n1", ("mlx5_0",))
        command = variant.command(situation).replace("|", "\\|")
        rows.append(f"| `{name}` | {vendor} | {variant.package} | `{command}` |\n")
    return rows


def _outputs() -> str:
    files = sorted(OUTPUTS.glob("*.txt"))
    captured = sum(path.read_text(encoding="utf-8").startswith("captured:") for path in files)
    return (
        f"The readers of GPU and RDMA tools are tested with {len(files)} outputs, {captured} captured by somebody\n"
        f"who published them and {len(files) - captured} synthetic, beside those of\n"
        "[accelerators](accelerators.md); no GPU was at hand.\n"
        "OpenSSL, fio, iperf3 and stress-ng run in the tests as Debian ships them.\n"
    )


def _floors() -> str:
    rows = "".join(
        f"| {row.count} x {row.gpu} | `{row.test}` | {row.floor:g} {KNOWN_TESTS[row.test].unit} | {row.measured} "
        f"| [{row.source.split('/')[3]}]({row.source}) |\n"
        for row in published_floors()
    )
    return (
        "## What known systems reach\n\n"
        "Floors that others publish. `check` warns of a floor under 80 % of the published one, and of a blueprint in\n"
        "use whose system nobody published one for; `blueprint new` says what is published. They were not measured\n"
        "here: your own fleet's values count more (`fleet_band`).\n\n"
        "| system | test | floor | measured there with | source |\n|---|---|---|---|---|\n" + rows
    )


def _workloads() -> str:
    rows = "".join(
        f"| `{kind}` | {' or '.join(f'`{name}`' for name in sorted(tests))} |\n"
        for kind, tests in sorted(WORKLOAD_TESTS.items())
    )
    return (
        "## What each kind of workload must have\n\n"
        "`check` refuses a blueprint whose `class.workloads` names a kind without one of these, with a floor.\n\n"
        f"| workload | tests |\n|---|---|\n{rows}"
    )
