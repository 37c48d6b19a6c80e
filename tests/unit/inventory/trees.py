"""Small Redfish trees, made of only what a test is about."""

from __future__ import annotations

import asyncio
from typing import Any

from metalwright.model.report import HardwareReport
from metalwright.redfish.inventory import CapturedTree, read_reports

ROOT = "/redfish/v1"
SYS = f"{ROOT}/Systems/1"
CH = f"{ROOT}/Chassis/1"
MGR = f"{ROOT}/Managers/1"

Tree = dict[str, Any]


def link(uri: str) -> dict[str, str]:
    return {"@odata.id": uri}


def collection(*uris: str, **more: Any) -> dict[str, Any]:
    return {"Members": [link(uri) for uri in uris], "Members@odata.count": len(uris), **more}


def machine(**system: Any) -> Tree:
    """A root with one system, one chassis and one manager; ``system`` adds properties to the system."""
    return {
        ROOT: {"RedfishVersion": "1.15.0"} | {n: link(f"{ROOT}/{n}") for n in ("Systems", "Chassis", "Managers")},
        f"{ROOT}/Systems": collection(SYS),
        f"{ROOT}/Chassis": collection(CH),
        f"{ROOT}/Managers": collection(MGR),
        SYS: {"Id": "1", "PowerState": "On", "Bios": link(f"{SYS}/Bios"), **system},
        CH: {"Id": "1", "ChassisType": "RackMount"},
        MGR: {"Id": "1", "ManagerType": "BMC", "FirmwareVersion": "1.0"},
    }


def with_members(tree: Tree, parent: str, name: str, *members: dict[str, Any]) -> Tree:
    """Link a collection ``name`` from ``parent`` and fill it."""
    uris = [f"{parent}/{name}/{body.get('Id', index + 1)}" for index, body in enumerate(members)]
    tree[parent] = {**tree[parent], name: link(f"{parent}/{name}")}
    tree[f"{parent}/{name}"] = collection(*uris)
    tree.update(dict(zip(uris, members, strict=True)))
    return tree


def reports_of(tree: Tree) -> list[HardwareReport]:
    return asyncio.run(read_reports(CapturedTree(tree)))


def report_of(tree: Tree) -> HardwareReport:
    (report,) = reports_of(tree)
    return report


def problems_of(report: HardwareReport) -> str:
    return "\n".join(f"{problem.uri}: {problem.what}" for problem in report.problems)
