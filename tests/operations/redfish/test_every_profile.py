"""Power and boot through pyinfra on every kind of BMC that the simulator knows: it works, and a second run is idle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.failures.profiled import profiled
from tests.operations.redfish.bench import alone
from tests.operations.redfish.in_process import run_deploy
from tests.operations.redfish.site import LabSite

from metalwright.operations.redfish import boot, event_logs, power, virtual_media
from metalwright.simulator.profiles import NAMES

QUICK = ("h100-8x-supermicro", "h200-8x-dell")
HOSTS = [name for name in NAMES if not name.startswith("power-shelf")]
STEPS: list[tuple[Any, dict[str, Any]]] = [
    (power.state, {"wanted": "On"}),
    (boot.override, {"wanted": "virtual-cd"}),
    (boot.override, {"wanted": "none"}),
    (virtual_media.ejected, {}),
    (event_logs.cleared, {}),
    (power.state, {"wanted": "Off"}),
]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.long]) for name in HOSTS]
)
def test_power_and_boot_work_on_this_profile_and_a_second_run_changes_nothing(name: str, tmp_path: Path) -> None:
    with profiled(name, f"127.97.240.{1 + list(NAMES).index(name)}") as bmc:
        login = {"METALWRIGHT_BMC_USER": bmc.bmc.spec.bmc.user, "METALWRIGHT_BMC_PASSWORD": bmc.password}
        site = LabSite(tmp_path, {}, login)
        for operation, arguments in STEPS:
            first = run_deploy(site, alone(operation, arguments), f"{bmc.address}:{bmc.port}")
            assert first.is_ok, f"{operation.__name__} {arguments}: {first.text}"
            if operation is event_logs.cleared:  # clearing leaves an entry of its own
                continue
            second = run_deploy(site, alone(operation, arguments), f"{bmc.address}:{bmc.port}")
            assert second.is_ok, second.text
            assert second.changed == [], f"{operation.__name__} {arguments}: {second.text}"


def test_a_bmc_without_a_host_is_left_alone(tmp_path: Path) -> None:
    with profiled("power-shelf-delta", "127.97.241.1") as bmc:
        login = {"METALWRIGHT_BMC_USER": bmc.bmc.spec.bmc.user, "METALWRIGHT_BMC_PASSWORD": bmc.password}
        site = LabSite(tmp_path, {}, login)
        refused = run_deploy(site, alone(power.state, {"wanted": "Off"}), f"{bmc.address}:{bmc.port}")
        assert not refused.is_ok
        assert "so nothing is changed" in refused.text
