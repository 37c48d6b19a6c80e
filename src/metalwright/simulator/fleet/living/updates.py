"""UpdateService: updates by URL and by push; versions in force."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metalwright.simulator.service.answers import Json
from metalwright.simulator.service.routes import Answer, Call
from metalwright.simulator.service.updates import install_staged, push, simple_update, version_of

if TYPE_CHECKING:
    from metalwright.simulator.fleet.binding import Bindings

_PUSHES = ("HttpPushUri", "MultipartHttpPushUri")


def bind(bindings: Bindings, path: str, body: Json) -> None:
    """Whatever ways the service offers."""
    inventory = str((body.get("FirmwareInventory") or {}).get("@odata.id", f"{path}/FirmwareInventory")).rstrip("/")
    known = [key.rpartition("/")[2] for key in bindings.tree.texts if key.rpartition("/")[0] == inventory]
    bindings.acts(body, "#UpdateService.SimpleUpdate", _simple(known))
    for name in _PUSHES:
        target = body.get(name)
        if isinstance(target, str):
            bindings.creates[target.rstrip("/")] = _push(known)
            bindings.raw_creates.add(target.rstrip("/"))
    bindings.power_on.append(install_staged)


def bind_item(bindings: Bindings, path: str, body: Json) -> None:
    """The version that is in force, here and where the same version is shown."""
    name, factory = path.rpartition("/")[2], body.get("Version")

    def show(call: Call, shown: Json) -> None:
        shown["Version"] = version_of(call.bmc, name, factory)

    bindings.lives(path, show)
    for other, key in bindings.tree.same_version.get(name, ()):
        bindings.lives(other, _shower(key, name, factory))


def _shower(key: str, name: str, factory: Any) -> Any:
    def show(call: Call, body: Json) -> None:
        body[key] = version_of(call.bmc, name, factory)

    return show


def _simple(known: list[str]) -> Any:
    async def update(call: Call) -> Answer:
        return await simple_update(call, known)

    return update


def _push(known: list[str]) -> Any:
    async def update(call: Call) -> Answer:
        return await push(call, known)

    return update
