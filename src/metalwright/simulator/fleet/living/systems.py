"""Computer systems: power, boot override, LED; Secure Boot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metalwright.simulator.fleet.living.own import has, keep, own, present
from metalwright.simulator.service.answers import Json, refuse
from metalwright.simulator.service.routes import Answer, Call, Field, Patch
from metalwright.simulator.state import BootOverride
from metalwright.simulator.system import RESET_TYPES, SystemStateError

if TYPE_CHECKING:
    from metalwright.simulator.fleet.binding import Bindings
    from metalwright.simulator.fleet.bmc import TreeBmc

_RESET = "#ComputerSystem.Reset"
_TARGET, _ENABLED, _MODE = "BootSourceOverrideTarget", "BootSourceOverrideEnabled", "BootSourceOverrideMode"
_KEPT = {
    "AssetTag": Field(str),
    "IndicatorLED": Field(str, ("Off", "Lit", "Blinking")),
    "LocationIndicatorActive": Field(bool),
    "PowerRestorePolicy": Field(str, ("AlwaysOn", "AlwaysOff", "LastState")),
    "Boot.BootOrder": Field(list),
    "Boot.BootNext": Field(str),
    "Boot.HttpBootUri": Field(str),
    "Boot.UefiTargetBootSourceOverride": Field(str),
}


def bind(bindings: Bindings, path: str, body: Json) -> None:
    """Every system shows the host's power (captured ones once it changed); the host alone is reset and booted."""
    bindings.lives(path, _show_power)
    if path != bindings.host:
        return
    bindings.lives(path, _show_boot)
    bindings.acts(body, _RESET, _reset(allowed_values(body, _RESET, "ResetType")))
    fields = present(body, _KEPT)
    boot = body.get("Boot")
    if isinstance(boot, dict):
        fields |= _override_fields(boot)
    bindings.patches[path] = Patch(fields, _changer(path))


def allowed_values(body: Json, action: str, parameter: str) -> list[str]:
    """The allowable values of an action's parameter as the body lists them; [] when it does not."""
    offered = body.get("Actions", {}).get(action, {})
    return list(offered.get(f"{parameter}@Redfish.AllowableValues", []))


def _override_fields(boot: Json) -> dict[str, Field]:
    targets = boot.get(f"{_TARGET}@Redfish.AllowableValues", ["None", "Cd", "Hdd", "Pxe"])
    enabled = boot.get(f"{_ENABLED}@Redfish.AllowableValues", ["Disabled", "Once", "Continuous"])
    fields = {f"Boot.{_TARGET}": Field(str, tuple(targets)), f"Boot.{_ENABLED}": Field(str, tuple(enabled))}
    if _MODE in boot:
        fields[f"Boot.{_MODE}"] = Field(str, ("UEFI", "Legacy"))
    return fields


def _show_power(call: Call, body: Json) -> None:
    system = call.bmc.system
    if own(call).shows_captured_power:
        return
    body["PowerState"] = system.power_state
    if has(body, "BootProgress.LastState"):
        body["BootProgress"]["LastState"] = system.boot_progress
    if system.state.last_reset_at is not None and "LastResetTime" in body:
        body["LastResetTime"] = system.state.last_reset_at


def _show_boot(call: Call, body: Json) -> None:
    boot, override = body.get("Boot"), call.bmc.state.override
    if not isinstance(boot, dict) or _TARGET not in boot:
        return
    boot[_TARGET], boot[_ENABLED] = override.target, override.enabled
    if _MODE in boot:
        boot[_MODE] = override.mode


def _changer(path: str) -> Any:
    async def change(call: Call, values: Json) -> None:
        written = {name: values.pop(f"Boot.{name}") for name in (_TARGET, _ENABLED, _MODE) if f"Boot.{name}" in values}
        order = values.get("Boot.BootOrder")
        known = own(call).body(path).get("Boot", {}).get("BootOrder", [])
        if order is not None and sorted(map(str, order)) != sorted(known):
            raise refuse("PropertyValueNotInList", str(order), "BootOrder", about="Boot/BootOrder")
        if written:
            call.bmc.state.override = _next_override(call.bmc.state.override, written)
        own(call).change(path, values)

    return change


def _next_override(old: BootOverride, written: dict[str, str]) -> BootOverride:
    target = written.get(_TARGET, old.target)
    enabled = written.get(_ENABLED, "Once" if _TARGET in written and old.enabled == "Disabled" else old.enabled)
    if target == "None" or enabled == "Disabled":
        target, enabled = "None", "Disabled"
    return BootOverride.model_validate({"target": target, "enabled": enabled, "mode": written.get(_MODE, old.mode)})


def _reset(allowed: list[str]) -> Any:
    async def reset(call: Call) -> Answer:
        kind = call.body.get("ResetType", "On")
        if not isinstance(kind, str) or (allowed and kind not in allowed):
            raise refuse("ActionParameterValueNotInList", str(kind), "ResetType", "ComputerSystem.Reset")
        kind = {"PushPowerButton": "GracefulShutdown", "FullPowerCycle": "PowerCycle", "ForceOn": "On"}.get(kind, kind)
        if kind not in RESET_TYPES:
            raise refuse("ActionParameterValueNotInList", kind, "ResetType", "ComputerSystem.Reset")
        try:
            await call.bmc.system.reset(kind)
        except SystemStateError:
            raise refuse("ResourceInStandby") from None
        return Answer(status=204)

    return reset


def bind_secure_boot(bindings: Bindings, path: str, body: Json) -> None:
    """Secure Boot is switched at the next power-on."""

    def switch(bmc: TreeBmc) -> None:
        wanted = bmc.body(path).get("SecureBootEnable")
        bmc.change(path, {"SecureBootCurrentBoot": "Enabled" if wanted else "Disabled"})

    if "SecureBootEnable" in body:
        bindings.patches[path] = keep(path, {"SecureBootEnable": Field(bool)})
        bindings.power_on.append(switch)
