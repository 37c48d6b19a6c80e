"""BIOS attributes: values in force, pending ones, and the registry's rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metalwright.simulator.attribute_rules import AttributeRules
from metalwright.simulator.fleet.living.own import own, value_at
from metalwright.simulator.fleet.tree import Tree
from metalwright.simulator.service.answers import Json, refuse, refuse_attributes, success
from metalwright.simulator.service.routes import Answer, Call, Field, Patch

if TYPE_CHECKING:
    from metalwright.simulator.fleet.binding import Bindings

_SETTINGS = "@Redfish.Settings"
APPLY_TIME = "@Redfish.SettingsApplyTime"
_SIBLINGS = ("Settings", "SD", "Pending")


def bind(bindings: Bindings, path: str, body: Json) -> None:
    """The resource in force shows what was applied; its settings object takes changes."""
    settings = settings_path(bindings.tree, path, body)
    if settings is None:
        return
    bindings.settings = settings if path.startswith(f"{bindings.host}/") else bindings.settings
    rules = _find_rules(bindings.tree, body)
    bindings.lives(path, _show_current)
    bindings.lives(settings, _pending_shower(bool(bindings.tree.body(settings).get("Attributes"))))
    times = value_at(body.get(_SETTINGS) or {}, "SupportedApplyTimes") or []
    bindings.patches[settings] = Patch(
        {"Attributes": Field(dict), APPLY_TIME: Field(dict)}, _changer(path, rules, times)
    )
    bindings.acts(body, "#Bios.ResetBios", _resetter(path, rules))


def settings_path(tree: Tree, path: str, body: Json) -> str | None:
    """Where changes go: what the annotation says, else a sibling of a known name, else nowhere."""
    target = value_at(body.get(_SETTINGS) or {}, "SettingsObject")
    named = target.get("@odata.id") if isinstance(target, dict) else None
    places = [named] if isinstance(named, str) else [f"{path}/{name}" for name in _SIBLINGS]
    found = [spelled for place in places if (spelled := tree.find(place)) is not None]
    return found[0] if found else None


def _show_current(call: Call, body: Json) -> None:
    state = call.bmc.state
    body.setdefault("Attributes", {}).update(state.bios)
    if state.bios_applied_at is not None and isinstance(body.get(_SETTINGS), dict):
        body[_SETTINGS] |= {"Time": state.bios_applied_at, "Messages": success()["@Message.ExtendedInfo"]}


def _pending_shower(is_full: bool) -> Any:
    def show(call: Call, body: Json) -> None:
        state = call.bmc.state
        current = {**body.get("Attributes", {}), **state.bios} if is_full else {}
        body["Attributes"] = {**current, **state.bios_pending}

    return show


def _changer(path: str, rules: AttributeRules, times: list[str]) -> Any:
    async def change(call: Call, values: Json) -> Answer | None:
        bmc = own(call)
        wanted = values.get("Attributes", {})
        apply_time = values.get(APPLY_TIME, {}).get("ApplyTime")
        if apply_time is not None and apply_time not in times:
            raise refuse("PropertyValueNotInList", str(apply_time), "ApplyTime", about=f"{APPLY_TIME}/ApplyTime")
        current = {**bmc.body(path).get("Attributes", {}), **bmc.state.bios}
        broken = rules.judge(wanted, {**current, **bmc.state.bios_pending})
        if broken:
            raise refuse_attributes(broken, wanted)
        queue = bmc.tree_routes.queue
        is_new = any(bmc.state.bios_pending.get(name) != value for name, value in wanted.items())
        answer = queue.change_answer(call, is_new=is_new, has_apply_time=apply_time is not None) if queue else None
        bmc.state.bios_pending.update(wanted)
        return answer

    return change


def _resetter(path: str, rules: AttributeRules) -> Any:
    async def reset(call: Call) -> Answer:
        bmc = own(call)
        current = {**bmc.body(path).get("Attributes", {}), **bmc.state.bios}
        defaults = rules.defaults()
        bmc.state.bios_pending = {name: value for name, value in defaults.items() if current.get(name) != value}
        return Answer(status=204)

    return reset


def _find_rules(tree: Tree, bios: Json) -> AttributeRules:
    """The rules of the registry that a Bios resource names, where the tree has it; none when it has not."""
    name = str(bios.get("AttributeRegistry", ""))
    for _, body in tree.bodies():
        kind = str(body.get("@odata.type", ""))
        if kind.startswith("#AttributeRegistry.") and (not name or body.get("Id", name) == name):
            return AttributeRules(value_at(body, "RegistryEntries") or {})
    return AttributeRules({})
