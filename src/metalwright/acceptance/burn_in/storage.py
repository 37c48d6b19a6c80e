"""Storage: sequential and random access, past the page cache."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from metalwright.acceptance.burn_in.measurement import (
    FaultyError,
    Measurement,
    NoResultError,
    Situation,
    Variant,
    only,
)

FIO_FILE = "/var/tmp/metalwright-fio"  # noqa: S108 - one fixed name on the node: fio refuses what is no plain file
DD_BYTES = 256 * 2**20
_DD_RESULT = re.compile(r"(\d+) bytes .*copied, ([0-9.e+-]+) s")


def read_dd(text: str, _situation: Situation) -> float:
    """10⁶ bytes a second from the closing line of ``dd`` (``N bytes (…) copied, S s, …``); all of them were read."""
    found = _DD_RESULT.search(text)
    if found is not None and int(found[1]) != DD_BYTES:
        raise NoResultError(f"dd read {found[1]} of {DD_BYTES} bytes")
    try:
        if found is not None:
            return round(int(found[1]) / float(found[2]) / 1e6, 1)
    except (ValueError, ZeroDivisionError):
        pass
    raise NoResultError(f"no closing line of dd in {text.strip()[-200:]!r}")


def fio_reader(direction: str, unit: str) -> Callable[[str, Situation], float]:
    """A reader of ``fio --output-format=json`` for ``read`` or ``write``, in ``MB/s`` (10⁶) or ``IOPS``."""

    def read(text: str, _situation: Situation) -> float:
        job = _fio_job(text)
        if job.get("error"):
            raise FaultyError(f"fio met error {job['error']} on the device")
        side = job.get(direction)
        if not isinstance(side, dict) or not side.get("total_ios") or not side.get("io_bytes"):
            raise NoResultError(f"fio did no {direction}")
        value = side.get("bw_bytes") if unit == "MB/s" else side.get("iops")
        if not isinstance(value, int | float):
            raise NoResultError(f"fio gives no {unit} for {direction}")
        return round(value / 1e6, 1) if unit == "MB/s" else round(value, 1)

    return read


def _fio_job(text: str) -> dict[str, object]:
    """The one job; what fio prints before the JSON (warnings) is skipped."""
    try:
        jobs = json.loads(text[max(text.find("{"), 0) :])["jobs"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise NoResultError(f"no JSON of fio in {text.strip()[:200]!r}") from error
    if not isinstance(jobs, list) or len(jobs) != 1 or not isinstance(jobs[0], dict):
        raise NoResultError("fio does not tell of exactly one job")
    return jobs[0]


def _dd(situation: Situation) -> str:
    return f"dd if=/dev/{situation.root_disk} of=/dev/null bs=4M count=64 iflag=direct 2>&1"


def _fio(pattern: str, block: str, depth: int) -> Callable[[Situation], str]:
    def command(situation: Situation) -> str:
        job = f"--name={pattern} --filename={FIO_FILE} --size=1G --rw={pattern} --bs={block} --iodepth={depth}"
        how = f"--direct=1 --ioengine=libaio --time_based --runtime={situation.seconds} --output-format=json"
        return f"fio {job} {how}; rc=$?; rm -f {FIO_FILE}; exit $rc"

    return command


def _fio_test(pattern: str, block: str, depth: int, unit: str, what: str) -> Measurement:
    direction = pattern.removeprefix("rand")
    variant = Variant("fio", "fio", _fio(pattern, block, depth), fio_reader(direction, unit))
    return Measurement(unit=unit, what=what, variants=only(variant), seconds=30, grace_s=120)


STORAGE_TESTS = {
    "disk-read": Measurement(
        unit="MB/s",
        what="sequential direct read of the disk under the root, 256 MiB",
        variants=only(Variant("dd", "coreutils", _dd, read_dd)),
        seconds=30,
    ),
    "fio-read": _fio_test("read", "1M", 32, "MB/s", "sequential direct read of a file of 1 GiB under /var/tmp"),
    "fio-write": _fio_test("write", "1M", 32, "MB/s", "sequential direct write of a file of 1 GiB under /var/tmp"),
    "fio-randread": _fio_test("randread", "4k", 64, "IOPS", "random direct reads of 4 KiB in a file of 1 GiB"),
    "fio-randwrite": _fio_test("randwrite", "4k", 64, "IOPS", "random direct writes of 4 KiB in a file of 1 GiB"),
}
