"""Sites of simulated machines for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from tests.operations.redfish.site import LabSite, lab_site

_octets = count(20)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[LabSite]:
    """One node, fresh."""
    with lab_site(tmp_path / "site", 1, next(_octets)) as lab:
        yield lab


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[LabSite]:
    """Two nodes, fresh."""
    with lab_site(tmp_path / "site", 2, next(_octets)) as lab:
        yield lab
