"""The GPU vendor's own report of a node, where its tool is there: made on the node, fetched, masked, kept in the run.

The tool writes to memory (/dev/shm), since the disk may be what fails. It has a time limit on the node, the answer has
one here, and what is fetched has a size limit; a report that was cut says so.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from metalwright.errors import SshError
from metalwright.journal.evidence import write_evidence_file
from metalwright.secrets.masking import mask_secrets
from metalwright.ssh import Completed

FETCHED_BYTES = 24 << 20
GZIP = 31  # zlib's window bits for the format of gzip
TEXT_BYTES = 96 << 20
"""Of the unpacked report the beginning is kept."""
GRACE_S = 25.0
"""For ending the tool, packing the report and the way here."""
NOT_THERE, LATE = 127, frozenset({124, 137})
RUN_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/rocm/bin"

SCRIPT = f"""
limit=$1 most=$2 tool=$3
shift 3
PATH=$PATH:{RUN_PATH}
command -v "$tool" >/dev/null || exit {NOT_THERE}
folder=$(mktemp -d /dev/shm/metalwright.XXXXXXXX 2>/dev/null || mktemp -d) || exit 125
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 125
timeout -k 5 "$limit" "$@" </dev/null >printed 2>&1
ended=$?
made=printed
for file in *.gz *.log; do
  if [ -s "$file" ]; then made=$file; break; fi
done
echo "$ended $(wc -c <"$made")"
case $made in
  *.gz) head -c "$most" "$made" | base64 ;;
  *) head -c "$most" "$made" | gzip -c | base64 ;;
esac
"""

AMD_PARTS = "version list static firmware bad-pages metric process topology"
Run = Callable[[tuple[str, ...], float], Completed]
"""Runs a command on the node within seconds; raises :class:`SshError`."""


@dataclass(frozen=True)
class Attempt:
    """One way to call a tool, with the seconds that it may take."""

    argv: tuple[str, ...]
    limit_s: int


@dataclass(frozen=True)
class VendorTool:
    """A tool and how it is called; a later attempt is made when the one before did not end in time."""

    name: str
    attempts: tuple[Attempt, ...]


NVIDIA = VendorTool(
    "nvidia-bug-report.sh",
    (
        Attempt(("nvidia-bug-report.sh", "--output-file", "report.log"), 120),
        Attempt(("nvidia-bug-report.sh", "--safe-mode", "--output-file", "report.log"), 60),
    ),
)
AMD = VendorTool("rocm_techsupport.sh", (Attempt(("rocm_techsupport.sh",), 120),))
AMD_SMI = VendorTool(
    "amd-smi",
    (Attempt(("sh", "-c", f'for part in {AMD_PARTS}; do echo "== amd-smi $part"; amd-smi $part; done'), 90),),
)
TOOLS = (NVIDIA, AMD, AMD_SMI)
"""AMD has no counterpart to NVIDIA's script in its packages: its support script where somebody put it, and amd-smi."""


def keep_vendor_reports(
    run: Run, directory: Path, node: str, tools: tuple[VendorTool, ...] = TOOLS
) -> dict[str, dict[str, object]]:
    """Return for each tool that is on the node what came of it: ``command exit seconds file``, or ``problem``.

    Raises OSError where the file cannot be written; a tool that hangs or a connection that breaks is a problem.
    """
    return {tool.name: told for tool in tools if (told := _of_tool(run, directory, node, tool)) is not None}


def _of_tool(run: Run, directory: Path, node: str, tool: VendorTool) -> dict[str, object] | None:
    told: dict[str, object] = {}
    for attempt in tool.attempts:
        arguments = ("sh", "-c", SCRIPT, "sh", str(attempt.limit_s), str(FETCHED_BYTES), tool.name, *attempt.argv)
        earlier = told.get("problem")
        told = {"command": " ".join(attempt.argv), "limit_s": attempt.limit_s}
        try:
            done = run(arguments, attempt.limit_s + GRACE_S)
        except SshError as error:
            return {**told, "problem": error.what}
        if done.rc == NOT_THERE:
            return None
        told |= _kept(done, directory, node, tool)
        if told.get("exit") not in LATE:
            return {**told, "before": f"{earlier}; tried again"} if earlier else told
    return told


def _kept(done: Completed, directory: Path, node: str, tool: VendorTool) -> dict[str, object]:
    head, _, packed = done.stdout.partition("\n")
    try:
        status, size = (int(word) for word in head.split())
        data = base64.b64decode(packed)
    except (ValueError, binascii.Error):
        return {"problem": f"no report: {mask_secrets(done.stderr.strip())[-400:] or f'exit status {done.rc}'}"}
    text, is_torn = _unpacked(data)
    now = datetime.now(UTC)
    name = f"{node}-{tool.name.removesuffix('.sh')}-{now:%Y%m%dT%H%M%S%fZ}.log.gz"
    path = write_evidence_file(directory, name, gzip.compress(mask_secrets(text).encode(), 6))
    told: dict[str, object] = {"exit": status, "file": path.name}
    if status in LATE:
        told["problem"] = "it did not end in time; what it had written is kept"
    elif is_torn or size > FETCHED_BYTES:
        told["problem"] = "the report is longer than is kept; its beginning is there"
    return told


def _unpacked(data: bytes) -> tuple[str, bool]:
    """The text of a gzip file of several parts, and whether its end is missing; what can be unpacked counts."""
    out, is_torn = bytearray(), False
    while data and not is_torn:
        part = zlib.decompressobj(wbits=GZIP)
        try:
            out += part.decompress(data, TEXT_BYTES - len(out))
        except zlib.error:
            is_torn = True
        is_torn |= not part.eof or len(out) >= TEXT_BYTES
        data = part.unused_data
    return out.decode(errors="replace"), is_torn
