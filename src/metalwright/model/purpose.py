"""What a network is for."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import StringConstraints

NetworkPurpose = (
    Literal["oob-management", "host-management", "provisioning", "workload", "storage", "uplink", "public"]
    | Annotated[str, StringConstraints(pattern=r"^fabric-rail-[0-9]+$", strict=True)]
)
"""What a network is for; fabric networks are numbered by rail."""
