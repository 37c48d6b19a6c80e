"""The BIOS as its BMC shows it: attributes, registry, and what already waits for the next reset."""

from __future__ import annotations

from typing import Any

from metalwright.bios.observed import bios_state, job_queue
from metalwright.facts.redfish.base import Json, RedfishFact


class BiosAttributes(RedfishFact):
    """BIOS attributes in force (``attributes``), what waits for a reset (``pending``) and where to write.

    ``settings_uri`` and ``pending`` are null where the BMC offers no place for changes; ``apply_times`` are the
    supported ones; ``registry`` is the name of the attribute registry; ``applied`` and ``messages`` are what the BMC
    says of the last change; ``jobs_uri`` is the queue that changes go through (null: none); ``secure_boot_pending`` is
    what Secure Boot becomes at the same reset (null: it stays).
    """

    def command(self) -> str:
        """Three GETs."""
        return "GET @system/Bios @bios-settings? @system/SecureBoot?"

    def read(self, body: Any) -> Json:
        """Attributes as the BMC types them."""
        bios, settings, secure_boot = body
        return bios_state(bios, settings, secure_boot or {})


class BiosRegistry(RedfishFact):
    """The attribute registry of this BIOS version, as Redfish defines it; ``{}`` where the BMC serves none."""

    def command(self) -> str:
        """A few GETs: registries, registry file, registry."""
        return "GET @bios-registry?"

    def read(self, body: Any) -> Json:
        """The registry."""
        return dict(body) if body else {}


class BiosJobs(RedfishFact):
    """The queue that BIOS changes go through (Dell): ``uri`` (null: there is none), ``clear_uri``, and its ``jobs``.

    Each job has ``uri id name kind state``.
    """

    def command(self) -> str:
        """The queue, its members and the service that empties it; nothing where the BMC has no queue."""
        return "GET @bios-jobs? @bios-jobs/*? @manager/Links/Oem/Dell/DellJobService?"

    def read(self, body: Any) -> Json:
        """Ended jobs are listed too."""
        queue, members, service = body
        return job_queue(queue, (members or {}).get("Members", []), service or {})
