"""The two inventory files, as pyinfra reads them: a site that is not valid is told in plain words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyinfra.api.exceptions import InventoryError

from metalwright.connectors.bmcs import bmc_groups
from metalwright.connectors.nodes import node_groups
from metalwright.starter.site import create_site


@pytest.mark.parametrize("groups", [bmc_groups, node_groups])
def test_a_site_that_is_not_valid_is_an_error_that_pyinfra_shows_without_a_traceback(
    groups: Callable[[Path], Any], tmp_path: Path
) -> None:
    site = tmp_path / groups.__name__
    create_site(site)
    path = site / "inventory/site.yaml"
    path.write_text(path.read_text() + "no_such_key: 1\n")
    with pytest.raises(InventoryError, match=r"site\.yaml:\d+:\d+: .*no_such_key"):
        groups(site)
