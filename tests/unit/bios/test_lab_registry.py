"""The registry file that `check` judges lab blueprints by says the same as the lab's machines."""

from __future__ import annotations

import json
from pathlib import Path

from metalwright.bios import parse_registry
from metalwright.simulator.attributes import registry

FILE = Path(__file__).parents[3] / "blueprints/registries/metalwright/lab-vm-1.0.0.json"


def test_the_registry_file_has_the_rules_of_the_lab() -> None:
    file, lab = parse_registry(json.loads(FILE.read_text())), parse_registry(registry("Lab VM", "1.0.0"))
    assert file.attributes == lab.attributes
    assert file.dependencies == lab.dependencies
