"""What a profile declares to be in its machine: the judge of any reader of its tree."""

from __future__ import annotations

from typing import Any

from metalwright.simulator.profiles.render.devices import drive_serial, gpu_serial
from metalwright.simulator.profiles.render.firmware import items
from metalwright.simulator.profiles.render.frame import Frame, numbered
from metalwright.simulator.profiles.render.power import psu_serial


def declare(frame: Frame) -> list[dict[str, Any]]:
    """One entry per host system ([]: none), with tokens. Only what the tree says is declared."""
    data, style = frame.data, frame.style
    if data.system is None:
        return []
    return [
        {
            "bmc": {"firmware_version": data.bmc.firmware, "address": "{{address}}", "macs": ["{{mac+0}}"]},
            "system": {
                "id": style.system,
                **data.system.model_dump(),
                "serial": "{{serial}}",
                "uuid": "{{uuid}}",
            },
            "chassis": {
                "manufacturer": data.chassis.manufacturer,
                "model": data.chassis.model,
                "serial": "C{{serial}}",
            },
            "cpus": _cpus(frame),
            "memory": _memory(frame),
            "gpus": _gpus(frame),
            "nics": _nics(frame),
            "drives": _drives(frame),
            "psus": _psus(frame),
            "firmware": [{"id": name, "version": version} for name, (_, version, _) in items(frame).items()],
        }
    ]


def _cpus(frame: Frame) -> list[dict[str, Any]]:
    cpus = frame.data.cpus
    if cpus is None:
        return []
    one = cpus.model_dump(include={"manufacturer", "model", "cores", "threads", "max_mhz"})
    return [one for _ in range(cpus.count)]


def _memory(frame: Frame) -> dict[str, Any]:
    cpus, dimms = frame.data.cpus, frame.data.dimms
    if cpus is None or dimms is None:
        return {}
    one = {"size_gib": dimms.size_gib, **dimms.model_dump(include={"manufacturer", "part_number", "type", "speed_mts"})}
    places = frame.dimm_places(cpus, dimms)[: dimms.count]
    return {
        "total_gib": dimms.count * dimms.size_gib,
        "dimms": [{"slot": frame.style.dimm_locator.format(**place), **one} for place in places],
    }


def _gpus(frame: Frame) -> list[dict[str, Any]]:
    gpus = frame.data.gpus
    if gpus is None:
        return []
    one = {
        "manufacturer": gpus.maker or gpus.manufacturer,
        "model": gpus.known_as or gpus.model,
        "memory_gib": gpus.memory_gib,
    }
    return [{**one, "serial": gpu_serial(n), "firmware_version": gpus.firmware} for n in range(1, gpus.count + 1)]


def _nics(frame: Frame) -> list[dict[str, Any]]:
    macs = frame.port_macs()
    return [
        {
            "manufacturer": kind.manufacturer,
            "model": kind.model,
            "firmware_version": kind.firmware,
            "ports": [
                {
                    "mac": macs[number, port].replace("MAC", "mac") if kind.link == "Ethernet" else None,
                    "speed_gbps": kind.speed_gbps,
                    "link": kind.link.lower(),
                }
                for port in range(1, kind.ports + 1)
            ],
        }
        for number, kind in frame.adapters()
    ]


def _drives(frame: Frame) -> list[dict[str, Any]]:
    names = {"manufacturer", "model", "protocol", "media", "size_bytes"}
    return [{**kind.model_dump(include=names), "serial": drive_serial(number)} for number, kind in frame.drives()]


def _psus(frame: Frame) -> list[dict[str, Any]]:
    psus = frame.data.psus
    if psus is None:
        return []
    one = psus.model_dump(include={"manufacturer", "model", "watts"})
    slot = frame.style.psu if "subsystem" in frame.style.power else frame.style.psu_name
    return [{**one, "slot": numbered(slot, n), "serial": psu_serial(n)} for n in range(1, psus.count + 1)]
