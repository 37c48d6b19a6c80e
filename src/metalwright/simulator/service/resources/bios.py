"""BIOS attributes: current values, and the settings resource that waits for the next reset."""

from __future__ import annotations

from metalwright.simulator.attributes import REGISTRY_ID, RULES, factory_values
from metalwright.simulator.service.answers import Json, refuse_attributes, success
from metalwright.simulator.service.bmc import SYSTEM
from metalwright.simulator.service.resources import jobs
from metalwright.simulator.service.routes import Answer, Call, Field, Patch, Route, link

_BIOS = f"{SYSTEM}/Bios"
_SETTINGS = f"{_BIOS}/Settings"
_RESET = f"{_BIOS}/Actions/Bios.ResetBios"
_TYPE = "#Bios.v1_2_3.Bios"
_APPLY_TIME = "@Redfish.SettingsApplyTime"
_ON_RESET = {"ApplyTime": "OnReset"}


def routes() -> list[Route]:
    """Current values are read-only; PATCH goes to the settings.

    ``/SD`` is the same resource under the name that some makers use; nothing links to it here.
    """
    fields = {
        "Attributes": Field(dict),
        _APPLY_TIME: Field(dict, check=lambda value: None if value == _ON_RESET else "PropertyValueNotInList"),
    }
    return [
        Route(_BIOS, read=_current),
        *(Route(path, read=_pending, patch=Patch(fields, _change)) for path in (_SETTINGS, f"{_BIOS}/SD")),
        Route(_RESET, create=_reset),
    ]


def _current(call: Call) -> Json:
    state = call.bmc.state
    settings: Json = {
        "@odata.type": "#Settings.v1_3_5.Settings",
        "SettingsObject": link(_SETTINGS),
        "SupportedApplyTimes": ["OnReset"],
        "Messages": [],
    }
    if state.bios_applied_at is not None:
        settings |= {"Time": state.bios_applied_at, "Messages": success()["@Message.ExtendedInfo"]}
    return {
        "@odata.id": _BIOS,
        "@odata.type": _TYPE,
        "Id": "Bios",
        "Name": "BIOS settings in force",
        "AttributeRegistry": f"{REGISTRY_ID}.1.0.0",
        "Attributes": dict(state.bios),
        "ResetBiosToDefaultsPending": False,
        "@Redfish.Settings": settings,
        "Actions": {"#Bios.ResetBios": {"target": _RESET}},
    }


def _pending(call: Call) -> Json:
    return {
        "@odata.id": call.path,
        "@odata.type": _TYPE,
        "Id": "Settings",
        "Name": "BIOS settings after the next reset",
        "AttributeRegistry": f"{REGISTRY_ID}.1.0.0",
        "Attributes": dict(call.bmc.state.bios_pending),
        **jobs.settings_links(call),
    }


async def _change(call: Call, values: Json) -> Answer | None:
    state = call.bmc.state
    wanted = values.get("Attributes", {})
    broken = RULES.judge(wanted, {**state.bios, **state.bios_pending})
    if broken:
        raise refuse_attributes(broken, wanted)
    is_new = any(state.bios_pending.get(name) != value for name, value in wanted.items())
    has_apply_time = _APPLY_TIME in values
    answer = jobs.LAB_QUEUE.change_answer(call, is_new=is_new, has_apply_time=has_apply_time)
    state.bios_pending.update(wanted)
    call.bmc.system.save()
    return answer


async def _reset(call: Call) -> Answer:
    spec, state = call.bmc.spec, call.bmc.state
    fresh = factory_values(spec.firmware.get("BIOS", ""), spec.bios_attributes)
    state.bios_pending = {name: value for name, value in fresh.items() if state.bios.get(name) != value}
    call.bmc.system.save()
    return Answer(status=204)
