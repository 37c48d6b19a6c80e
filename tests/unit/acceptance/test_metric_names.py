"""What counts as an answer of an exporter: a page with metrics, nothing less."""

from __future__ import annotations

import pytest

from metalwright.acceptance.exporters import metric_names

PAGE = '# HELP up x\n# TYPE up gauge\nup 1\nnode_load1{a="b c"} 0.5 1700000000\n'


@pytest.mark.parametrize("line", ["\r\n", "\n"])
def test_names_are_read_from_an_answer(line: str) -> None:
    answer = f"HTTP/1.0 200 OK{line}Content-Type: text/plain{line}{line}{PAGE}"
    assert metric_names(answer) == {"up", "node_load1"}


@pytest.mark.parametrize("answer", ["", PAGE, f"HTTP/1.1 503 no\r\n\r\n{PAGE}", "HTTP/1.1 200 OK\r\n\r\n"])
def test_what_is_no_page_has_no_names(answer: str) -> None:
    assert metric_names(answer) == frozenset()
