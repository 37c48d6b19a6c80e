"""Whether a metrics endpoint tells of now, and of every GPU (pure)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

GPU_EXPORTERS: Mapping[str, str] = MappingProxyType(
    {"dcgm_exporter": "http://127.0.0.1:9400/metrics", "amd_metrics_exporter": "http://127.0.0.1:5000/metrics"}
)
"""Agent of a blueprint → where its metrics are on the node."""

_SAMPLE = re.compile(r"^(?P<series>[a-zA-Z_:][a-zA-Z0-9_:]*\{(?P<labels>[^}]*)\})\s+(?P<value>\S+)", re.MULTILINE)
_GPU = re.compile(r'(?:^|,)\s*(?:gpu|gpu_id)="([^"]*)"')


def exporter_fault(first_text: str, second_text: str, gpus: int) -> str | None:
    """What is wrong with two answers that lie one collection interval apart; ``None``: nothing.

    Every GPU must have series of its own in both, and for each GPU at least one value must have moved: a collector that
    is stuck answers the same text for ever.
    """
    first, second = _values(first_text), _values(second_text)
    for values in (first, second):
        if len(values) != gpus:
            return f"series of {len(values)} of {gpus} GPUs"
    stuck = sorted(gpu for gpu, values in second.items() if values == first.get(gpu))
    if stuck:
        return f"no value of GPU {', '.join(stuck)} moved between two answers: the collector is stuck"
    return None


def _values(text: str) -> dict[str, dict[str, str]]:
    """GPU → series → value as written."""
    found: dict[str, dict[str, str]] = {}
    for sample in _SAMPLE.finditer(text):
        gpu = _GPU.search(sample["labels"])
        if gpu is not None:
            found.setdefault(gpu[1], {})[sample["series"]] = sample["value"]
    return found


def metric_names(text: str) -> frozenset[str]:
    """The names of the metrics in an answer over HTTP; none where it is no answer of an exporter."""
    head, _, body = text.replace("\r\n", "\n").partition("\n\n")
    if not re.match(r"HTTP/1\.[01] 200 ", head):
        return frozenset()
    return frozenset(re.findall(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{| )", body, re.MULTILINE))
