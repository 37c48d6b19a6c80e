"""What a BMC shows of its BIOS, as plain JSON: for the facts of pyinfra and for the state table alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]


def bios_state(bios: Mapping[str, Any], settings: Mapping[str, Any] | None, secure_boot: Mapping[str, Any]) -> Json:
    """The Bios resource, its settings resource (``None``: not offered) and SecureBoot (empty: not offered).

    ``attributes`` are in force, ``pending`` wait for a reset; ``settings_uri`` and ``pending`` are null where the
    BMC offers no place for changes; ``apply_times`` are the supported ones; ``applied`` and ``messages`` are what
    the BMC says of the last change; ``jobs_uri`` is the queue that changes go through (null: none);
    ``secure_boot_pending`` is what Secure Boot becomes at the same reset (null: it stays).
    """
    annotation = _object(bios.get("@Redfish.Settings"))
    times = annotation.get("SupportedApplyTimes")
    return {
        "uri": bios.get("@odata.id"),
        "registry": bios.get("AttributeRegistry"),
        "attributes": _object(bios.get("Attributes")),
        "settings_uri": settings.get("@odata.id") if settings is not None else None,
        "pending": _object(settings.get("Attributes")) if settings is not None else None,
        "apply_times": [str(item) for item in times] if isinstance(times, list) else [],
        "applied": annotation.get("Time"),
        "messages": _bad_messages(annotation.get("Messages")),
        "jobs_uri": _jobs_uri(settings or {}),
        "secure_boot_pending": _secure_boot_pending(secure_boot),
    }


def job_queue(queue: Mapping[str, Any] | None, jobs: list[Any], service: Mapping[str, Any]) -> Json:
    """The queue that BIOS changes go through: ``uri`` (null: there is none), ``clear_uri`` and ``jobs``.

    Each job has ``uri id name kind state``.
    """
    clear = _object(_object(service.get("Actions")).get("#DellJobService.DeleteJobQueue")).get("target")
    return {
        "uri": queue.get("@odata.id") if queue is not None else None,
        "clear_uri": clear,
        "jobs": [_job(job) for job in jobs if isinstance(job, Mapping)],
    }


def _jobs_uri(settings: Mapping[str, Any]) -> str | None:
    makers = [maker for maker in _object(settings.get("Oem")).values() if isinstance(maker, Mapping)]
    uris = [_object(maker.get("Jobs")).get("@odata.id") for maker in makers]
    return next((uri for uri in uris if isinstance(uri, str)), None)


def _job(job: Mapping[str, Any]) -> Json:
    return {
        "uri": job.get("@odata.id"),
        "id": str(job.get("Id") or ""),
        "name": str(job.get("Name") or ""),
        "kind": str(job.get("JobType") or ""),
        "state": str(job.get("JobState") or ""),
    }


def _secure_boot_pending(secure_boot: Mapping[str, Any]) -> str | None:
    wanted, current = secure_boot.get("SecureBootEnable"), secure_boot.get("SecureBootCurrentBoot")
    if not isinstance(wanted, bool) or current not in ("Enabled", "Disabled"):
        return None
    after = "Enabled" if wanted else "Disabled"
    return None if after == current else after


def _bad_messages(listed: Any) -> list[str]:
    lines = []
    for message in listed if isinstance(listed, list) else []:
        entry = _object(message)
        name = str(entry.get("MessageId") or "").rsplit(".", 1)[-1]
        if name not in ("", "Success", "SystemResetRequired"):
            args = entry.get("MessageArgs")
            about = " ".join(str(item) for item in args) if isinstance(args, list) else ""
            lines.append(f"{name} {about}".strip())
    return lines


def _object(value: Any) -> Json:
    return dict(value) if isinstance(value, Mapping) else {}
