"""Virtual media of the BMC. Every slot is emptied before one is filled: BMCs refuse a second image or boot the old."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyinfra.api.operation import operation
from pyinfra.context import host

from metalwright.facts.redfish import VirtualMedia
from metalwright.operations.redfish.boot_choice import cd_slot
from metalwright.operations.redfish.requests import (
    Commands,
    Proof,
    contained,
    line,
    look,
    patch,
    post,
    refuse,
    show_diff,
    unreadable,
)

SETTLE_S = 60.0
"""How long a BMC may take to fetch an image or to let go of one."""

TRIES = 2
"""BMCs are known to fail at the first try and to have done it, or to do it at the second."""

INSERT_HINT = "the BMC itself fetches the image: can it reach the boot server (site.yaml boot_server.address_for_bmc)?"


@operation()
@contained
def inserted(image: str) -> Commands:
    """Have ``image`` (a URL, or ``{secret:media-url}``) in a CD slot and nothing in any other.

    The connector allows this only for a node of the inventory with a grant: what boots from it owns the machine.
    """
    seen = look(VirtualMedia)
    if seen is None:
        yield unreadable("its virtual media")
        return
    yield from insert_commands(seen, image)


@operation()
@contained
def ejected() -> Commands:
    """Have every slot empty."""
    seen = look(VirtualMedia)
    if seen is None:
        yield unreadable("its virtual media")
        return
    full = [slot for slot in seen["slots"] if slot["is_inserted"]]
    if not full:
        host.noop("no virtual medium is inserted")
        return
    show_diff(eject_lines(full))
    yield from eject_commands(full)


def insert_commands(seen: Mapping[str, Any], image: str) -> Commands:
    """Yield what brings ``image`` into the best slot of ``seen`` (fact VirtualMedia)."""
    slot = cd_slot(seen["slots"])
    if slot is None:
        yield refuse(f"this BMC has no virtual CD: its slots are {[item['types'] for item in seen['slots']] or 'none'}")
        return
    others = [item for item in seen["slots"] if item["is_inserted"] and item != slot]
    if slot["is_inserted"] and slot["image"] == image:
        if not others:
            host.noop("the image is inserted")
        show_diff(eject_lines(others))
        yield from eject_commands(others)
        return
    show_diff([*eject_lines(others), line("virtual media", slot["image"], image)])
    yield from eject_commands(others + ([slot] if slot["is_inserted"] else []))
    shown = Proof({"Inserted": True}, {}, slot["uri"], SETTLE_S, TRIES, hint=INSERT_HINT)
    if slot["insert_uri"]:
        yield post(slot["insert_uri"], {"Image": image}, proof=shown)
    else:
        yield patch(slot["uri"], {"Image": image, "Inserted": True, "WriteProtected": True}, proof=shown)


def eject_lines(slots: Sequence[Mapping[str, Any]]) -> list[str]:
    """What emptying these slots is in a diff."""
    return [line(f"virtual media {_name(slot)}", slot["image"] or "something", "empty") for slot in slots]


def eject_commands(slots: Sequence[Mapping[str, Any]]) -> Commands:
    """Yield what empties the slots, each with its read-back."""
    for slot in slots:
        shown = Proof({}, {"Inserted": True}, slot["uri"], SETTLE_S, TRIES)
        if slot["eject_uri"]:
            yield post(slot["eject_uri"], {}, proof=shown)
        else:
            yield patch(slot["uri"], {"Image": None, "Inserted": False}, proof=shown)


def _name(slot: Mapping[str, Any]) -> str:
    return str(slot["uri"]).rstrip("/").rsplit("/", 1)[-1]
