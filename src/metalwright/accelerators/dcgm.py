"""``dcgmi diag -j`` (pure): the shape of DCGM 2 and 3, and that of DCGM 4."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from metalwright.accelerators.gpu import Failure
from metalwright.accelerators.json_text import document, rows, table
from metalwright.accelerators.quantities import said, whole
from metalwright.accelerators.tool_failures import failure_in
from metalwright.model.base import Frozen

DcgmStatus = Literal["PASS", "FAIL", "WARN", "SKIP", "NOT-RUN"]
_STATUS: Mapping[str, DcgmStatus] = {"pass": "PASS", "fail": "FAIL", "warn": "WARN", "skip": "SKIP", "skipped": "SKIP"}
_ROOTS = ("DCGM Diagnostic", "DCGM GPU Diagnostic")


class DcgmResult(Frozen):
    """One test on one GPU (``gpus`` of several numbers: one result for all of them; empty: for the whole node)."""

    category: str
    test: str
    gpus: tuple[int, ...]
    status: DcgmStatus
    warnings: tuple[str, ...] = ()


class DcgmDiagnostic(Frozen):
    """A whole run. ``failure`` says why there is none."""

    version: str | None = None
    driver_version: str | None = None
    results: tuple[DcgmResult, ...] = ()
    failure: Failure | None = None

    def count(self, status: DcgmStatus) -> int:
        """Results with that status."""
        return Counter(result.status for result in self.results)[status]

    @property
    def verdict(self) -> Literal["PASS", "FAIL", "NOT-RUN"]:
        """FAIL for one failure or warning; PASS only when something passed and every test of it ran."""
        if self.count("FAIL") or self.count("WARN"):
            return "FAIL"
        return "PASS" if self.results and self.count("PASS") == len(self.results) else "NOT-RUN"


def parse(text: str) -> DcgmDiagnostic:
    """Read the JSON. A status in unknown words is NOT-RUN; a text without results has a ``failure``."""
    found = table(document(text))
    root = next((table(found[name]) for name in _ROOTS if name in found), {})
    metadata = table(found.get("metadata"))
    results = tuple(_results(root))
    runtime_error = said(root.get("runtime_error"))
    failure = Failure(kind="unreadable", said=runtime_error[:200]) if runtime_error else None
    return DcgmDiagnostic(
        version=said(root.get("version")) or said(metadata.get("version")) or said(metadata.get("DCGM Version")),
        driver_version=said(root.get("Driver Version Detected")) or said(metadata.get("Driver Version Detected")),
        results=results,
        failure=failure or (None if results else failure_in(text)),
    )


def _results(root: Mapping[str, Any]) -> Iterator[DcgmResult]:
    for category in rows(root.get("test_categories")):
        for test in rows(category.get("tests")):
            for result in rows(test.get("results")):
                yield DcgmResult(
                    category=said(category.get("category")) or "",
                    test=said(test.get("name")) or "",
                    gpus=_gpus(result),
                    status=_STATUS.get(str(result.get("status")).strip().lower(), "NOT-RUN"),
                    warnings=tuple(_texts(result.get("warnings"))),
                )


def _gpus(result: Mapping[str, Any]) -> tuple[int, ...]:
    """``"0,1,2"``, ``"0"`` or ``0`` until DCGM 3; one entity since DCGM 4."""
    if said(result.get("entity_group")) == "GPU":
        listed: list[Any] = [result.get("entity_id")]
    else:
        listed = list[Any](str(result.get("gpu_ids", "")).split(","))
    return tuple(number for number in map(whole, listed) if number is not None)


def _texts(warnings: Any) -> Iterator[str]:
    """A text, a list of texts, or (DCGM 4) a list of objects with the text under ``warning``."""
    for item in warnings if isinstance(warnings, list) else [warnings]:
        text = said(item.get("warning")) if isinstance(item, dict) else said(item)
        if text is not None:
            yield text
