"""The words in which the tools say that they cannot speak to the driver (pure)."""

from __future__ import annotations

from metalwright.accelerators.gpu import Failure, FailureKind

_WORDS: tuple[tuple[str, FailureKind], ...] = (
    ("driver/library version mismatch", "driver-library-mismatch"),
    ("couldn't communicate with the nvidia driver", "no-driver"),
    ("driver not loaded", "no-driver"),
    ("driver not initialized", "no-driver"),
    ("not found in modules", "no-driver"),
    ("amdsmi_status_driver_not_loaded", "no-driver"),
    ("insufficient permissions", "no-permission"),
    ("permission denied", "no-permission"),
    ("gpu is lost", "gpu-lost"),
    ("unable to determine the device handle", "gpu-lost"),
    ("no devices were found", "no-devices"),
    ("no amd gpus", "no-devices"),
    ("failed to initialize nvml", "no-driver"),
)
_SHOWN_CHARACTERS = 200


def failure_in(text: str) -> Failure:
    """What a text that is no reading says; an empty one is no answer, one in no known words is unreadable."""
    said = " ".join(text.split())[:_SHOWN_CHARACTERS]
    if not said:
        return Failure(kind="no-answer", said="nothing")
    lower = " ".join(text.lower().split())
    kind: FailureKind = next((kind for words, kind in _WORDS if words in lower), "unreadable")
    return Failure(kind=kind, said=said)
