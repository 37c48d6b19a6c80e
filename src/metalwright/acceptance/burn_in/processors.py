"""Processor and memory: OpenSSL's hash and the stressors of stress-ng, which check what they compute."""

from __future__ import annotations

import re

from metalwright.acceptance.burn_in.measurement import Measurement, NoResultError, Situation, Variant, only

_STRESSOR = re.compile(r"^\s*-\s*stressor:\s*(\S+)\s*$", re.MULTILINE)
_OPERATIONS = re.compile(r"^\s*bogo-ops:\s*(\d+)\s*$", re.MULTILINE)
_RATE = re.compile(r"^\s*bogo-ops-per-second-real-time:\s*([0-9.]+)\s*$", re.MULTILINE)


def read_openssl(text: str, _situation: Situation) -> float:
    """10⁶ bytes a second of the last column of ``openssl speed -mr`` (``+F:…:BYTES_PER_S``)."""
    for line in text.splitlines():
        if line.startswith("+F:"):
            try:
                return round(float(line.rpartition(":")[2]) / 1e6, 1)
            except ValueError as error:
                raise NoResultError(f"openssl speed printed {line!r}") from error
    raise NoResultError(f"no line of results in {text.strip()[-200:]!r}")


def read_stress_ng(text: str, _situation: Situation) -> float:
    """Bogus operations a second (real time) from the YAML of ``stress-ng --verify``.

    stress-ng ends with 0 also when a stressor was skipped: then there is no entry, or one without operations. What it
    verified as wrong shows in its exit status.
    """
    stressors, operations, rates = _STRESSOR.findall(text), _OPERATIONS.findall(text), _RATE.findall(text)
    if len(stressors) != 1 or len(operations) != 1 or len(rates) != 1:
        raise NoResultError(f"{len(stressors)} stressors in its metrics, expected one")
    if int(operations[0]) == 0:
        raise NoResultError(f"the stressor {stressors[0]} did no operation")
    try:
        return round(float(rates[0]), 2)
    except ValueError as error:
        raise NoResultError(f"a rate of {rates[0]!r}") from error


def _openssl(situation: Situation) -> str:
    return f"openssl speed -seconds {situation.seconds} -bytes 16384 -mr sha256 2>&1"


def _stress_cpu(situation: Situation) -> str:
    return _stress_ng("--cpu 0 --cpu-method matrixprod", situation)


def _stress_memory(situation: Situation) -> str:
    return _stress_ng("--vm 0 --vm-bytes 80%", situation)


def _stress_ng(stressor: str, situation: Situation) -> str:
    """The YAML goes to stdout; what it says beside it stays on stderr, where the result is not looked for."""
    return f"stress-ng {stressor} --verify --timeout {situation.seconds}s --metrics-brief --yaml /dev/stdout"


PROCESSOR_TESTS = {
    "cpu-hash": Measurement(
        unit="MB/s",
        what="SHA-256 of one core, blocks of 16 KiB",
        variants=only(Variant("openssl", "openssl", _openssl, read_openssl)),
        seconds=1,
    ),
    "stress-cpu": Measurement(
        unit="ops/s",
        what="matrix products on all processors, each result verified",
        variants=only(Variant("stress-ng", "stress-ng", _stress_cpu, read_stress_ng)),
        seconds=60,
        is_load=True,
    ),
    "stress-memory": Measurement(
        unit="ops/s",
        what="patterns written to 80 % of the free memory and verified",
        variants=only(Variant("stress-ng", "stress-ng", _stress_memory, read_stress_ng)),
        seconds=60,
        is_load=True,
    ),
}
