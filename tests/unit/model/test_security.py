"""What a blueprint may say of security, and what is refused before any node hears of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.desired import blueprint

from metalwright.loading.models import parse_model
from metalwright.model.security import OpenPorts


def opened(**changes: Any) -> dict[str, Any]:
    return {"open_ports": [{"network": "workload", "tcp": [8000, "30000-32767"], **changes}]}


def test_declared_ports_are_kept_as_they_were_written() -> None:
    (item,) = blueprint(security=opened()).security.open_ports
    assert (item.tcp, item.udp) == ((8000, "30000-32767"), ())


def test_ports_in_a_file_are_read_as_numbers_and_ranges() -> None:
    text = "network: workload\ntcp: [8000, 30000-32767]\nudp: ['53']\n"
    item = parse_model(text, OpenPorts, Path("ports.yaml")).model
    assert (item.tcp, item.udp) == ((8000, "30000-32767"), (53,))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"network": "storage"}, "which no entry of network joins"),
        ({"network": "provisioning"}, "serves nobody on the provisioning network"),
        ({"network": "oob-management"}, "serves nobody on the oob-management network"),
        ({"tcp": []}, "name no port"),
        ({"tcp": [0]}, "greater than or equal to 1"),
        ({"tcp": [65536]}, "less than or equal to 65535"),
        ({"tcp": ["9-1"]}, "no range FIRST-LAST"),
        ({"tcp": ["1-70000"]}, "no range FIRST-LAST"),
        ({"tcp": ["22; accept"]}, "no range FIRST-LAST"),
        ({"tcp": [True]}, "valid integer"),
    ],
)
def test_ports_that_cannot_be_opened_are_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        blueprint(security=opened(**changes))
