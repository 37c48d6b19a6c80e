"""Known misbehaviour of BMCs by the id of its failure: ``recipes.yaml``, each entry some faults in one word."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from ruamel.yaml import YAML

from metalwright.errors import LabError
from metalwright.simulator.faults import Fault


@cache
def recipes() -> Mapping[str, tuple[Fault, ...]]:
    """The faults of each recipe, by its name in small letters: ``rt-04``, or ``rt-09b`` where there are variants."""
    text = (files("metalwright.simulator") / "recipes.yaml").read_text(encoding="utf-8")
    data = YAML(typ="safe").load(text)
    return {name: tuple(Fault.model_validate(fault) for fault in faults) for name, faults in data.items()}


def faults_of(fault: Fault) -> tuple[Fault, ...]:
    """What a fault stands for: the faults of the recipe that it names, else itself.

    Raises :class:`LabError` where a recipe is narrowed: it says itself which requests it is about.
    """
    found = recipes().get(fault.name.lower())
    if found is None:
        return (fault,)
    if more := fault.model_fields_set - {"name"}:
        raise LabError("a recipe takes no details", where=fault.name, expected="the name alone", found=", ".join(more))
    return found
