"""One node with its BMC, and pyinfra on it in this process."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from tests.operations.redfish.bench import Bench, bench_in

_octets = count(1)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A fresh node; its host is off."""
    with bench_in(tmp_path / "site", next(_octets)) as made:
        yield made
