"""What the sensors of a machine say at one moment. ``None`` is unknown: never zero, never well."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Temperature:
    """°C; ``limit_c`` is the maker's critical limit. ``is_inlet``: the air that the server takes in, one at most."""

    name: str
    celsius: float
    limit_c: float | None = None
    is_inlet: bool = False


@dataclass(frozen=True)
class Fan:
    """One fan; its speed as the BMC gives it, revolutions a minute or percent."""

    name: str
    rpm: float | None = None
    percent: float | None = None
    is_ok: bool | None = None


@dataclass(frozen=True)
class PowerSupply:
    """One power supply that is there; ``is_ok`` is false also where it has lost its input."""

    name: str
    is_ok: bool | None = None


@dataclass(frozen=True)
class MachineSensors:
    """All of one host. ``psus`` are those that are there, ``None`` where the BMC describes none at all."""

    temperatures: tuple[Temperature, ...] = ()
    fans: tuple[Fan, ...] = ()
    psus: tuple[PowerSupply, ...] | None = None
    power_w: float | None = None
    problems: tuple[str, ...] = field(default=(), compare=False)
