"""The page of facts, operations and deploys, from their docstrings and signatures."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from pyinfra.api.facts import FactBase

import metalwright.deploys
import metalwright.facts
import metalwright.operations

INTRODUCTION = """\
# Facts, operations, deploys

The pyinfra side. In an inventory, `@redfish/NODE` is a node's BMC and `@redfish/HOST[:PORT]` any BMC
(`METALWRIGHT_BMC_USER`, `METALWRIGHT_BMC_PASSWORD`). A fact is read by name:
`pyinfra @redfish/NODE fact metalwright.facts.redfish.System`. A deploy of the site is a file:
`pyinfra inventory/bmcs.py deploys/bios.py --dry --diff`.
"""


def render() -> str:
    """Markdown: three sections, one heading a module."""
    return "\n".join(
        [
            INTRODUCTION,
            *_section("Facts", metalwright.facts, _facts),
            *_section("Operations", metalwright.operations, _operations),
            *_section("Deploys", metalwright.deploys, _deploys),
        ]
    )


def _section(title: str, package: ModuleType, rows_of: Callable[[ModuleType], Iterator[str]]) -> Iterator[str]:
    yield f"## {title}\n"
    for module in _modules(package):
        rows = list(rows_of(module))
        if rows:
            yield f"### {module.__name__}\n\n{_text(module)}\n"
            yield "\n".join(["| name | means |", "|---|---|", *rows]) + "\n"


def _modules(package: ModuleType) -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield importlib.import_module(found.name)


def _facts(module: ModuleType) -> Iterator[str]:
    for name, value in _own(module):
        if inspect.isclass(value) and issubclass(value, FactBase) and not vars(value).get("abstract", False):
            yield _row(f"`{name}`", value)


def _operations(module: ModuleType) -> Iterator[str]:
    for name, value in _own(module):
        inner = getattr(value, "_inner", None)
        if inner is not None:
            yield _row(f"`{name}{_parameters(inner)}`", inner)


def _deploys(module: ModuleType) -> Iterator[str]:
    for name, value in _own(module):
        if inspect.isfunction(value) and hasattr(value, "__wrapped__"):
            yield _row(f"`{name}{_parameters(inspect.unwrap(value))}`", inspect.unwrap(value))


def _own(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Public names that the module itself defines, in the order of definition."""
    for name, value in vars(module).items():
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__:
            yield name, value


def _parameters(function: Callable[..., Any]) -> str:
    names = [
        name if parameter.default is inspect.Parameter.empty else f"{name}={parameter.default!r}"
        for name, parameter in inspect.signature(function).parameters.items()
    ]
    return f"({', '.join(names)})"


def _row(name: str, value: Any) -> str:
    return f"| {name} | {_text(value)} |"


def _text(value: Any) -> str:
    return " ".join((inspect.getdoc(value) or "").split()).replace("``", "`").replace("|", "\\|")
