"""The certificate service of a tree, where it offers its actions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metalwright.simulator.service.answers import Json
from metalwright.simulator.service.certificates import GENERATE, REPLACE, describe, generate, replace
from metalwright.simulator.service.routes import Call

if TYPE_CHECKING:
    from metalwright.simulator.fleet.binding import Bindings


def bind(bindings: Bindings, _path: str, body: Json) -> None:
    """Signing requests and replacing, where the tree has these actions."""
    bindings.acts(body, f"#{GENERATE}", generate)
    bindings.acts(body, f"#{REPLACE}", replace)


def bind_certificate(bindings: Bindings, path: str, _body: Json) -> None:
    """The certificate of HTTPS shows what is served."""
    if "/HTTPS/" in path:
        bindings.lives(path, _show)


def _show(call: Call, body: Json) -> None:
    body.update(describe(call.bmc))
