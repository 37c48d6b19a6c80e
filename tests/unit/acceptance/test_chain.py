"""The chain of verdicts, from the exit status of a tool on the node to the certificate: one wrong link, no PASS."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.desired import blueprint

from metalwright.acceptance.burn_in.measurement import Situation, conclude
from metalwright.acceptance.burn_in.tests import BURN_IN
from metalwright.acceptance.certificate import make_certificate
from metalwright.acceptance.verdicts import certified_results, judge, read_junit
from metalwright.model.certificate import Certificate

FLOOR = 20.0
NAMES = ("cpu-hash", "disk-read")
GOOD_TEXT = {
    "cpu-hash": "+F:22:sha256:31457280.00\n",
    "disk-read": "268435456 bytes (268 MB, 256 MiB) copied, 0.5 s, 537 MB/s\n",
}
WANTED = blueprint(acceptance=[{"test": name, "floor": FLOOR, "unit": "MB/s"} for name in NAMES])
EXPECTED: dict[str, Any] = {
    "checks": {
        "service": [{"id": "ssh"}],
        "measured": [{"id": name, "floor": FLOOR, "unit": "MB/s", "seconds": None} for name in NAMES],
    }
}


@dataclass(frozen=True)
class Link:
    """What happened with one measured test, from the tool to pytest's document."""

    rc: int = 0
    text: str | None = None
    """What the tool printed; ``None``: what it should."""
    way: Literal["there", "lost", "hang"] = "there"
    pytest: Literal["passed", "failed", "error", "skipped", "absent", "cut"] = "passed"
    """``passed``: as the suite concludes; all else is what a broken suite or plugin would write instead."""
    value: str | None = None
    """A value that somebody else wrote into the document."""

    @property
    def is_sound(self) -> bool:
        return self == Link()


def case(name: str, link: Link) -> str:
    """The suite's own conclusion, or the wrong one that ``link`` asks for, as JUnit XML."""
    variant = BURN_IN[name].variant(None)
    assert variant is not None
    text = GOOD_TEXT[name] if link.text is None else link.text
    reading = conclude(variant, Situation(seconds=1), link.rc, text, "")
    properties, child = {}, ""
    if link.way == "lost":
        properties["transport"], child = "connection lost", "<failure message='lost'/>"
    elif link.way == "hang":
        properties["hang"], child = "still running", "<failure message='hang'/>"
    else:
        if reading.value is not None:
            properties["value"] = str(reading.value)
        if reading.verdict != "PASS":
            child = "<failure message='x'/>" if reading.verdict == "FAIL" else "<skipped message='x'/>"
        elif reading.value is not None and reading.value < FLOOR:
            child = "<failure message='floor'/>"
    child += {"failed": "<failure/>", "error": "<error/>", "skipped": "<skipped/>"}.get(link.pytest, "")
    if link.value is not None:
        properties["value"] = link.value
    listed = "".join(f'<property name="{key}" value="{value}"/>' for key, value in properties.items())
    return f'<testcase name="test_measured[{name}]"><properties>{listed}</properties>{child}</testcase>'


def certificate(links: dict[str, Link], *, service: str = "", power: float | None = 100.0) -> Certificate:
    cases = [case(name, link) for name, link in links.items() if link.pytest != "absent"]
    document = f'<testsuite><testcase name="test_service[ssh]">{service}</testcase>{"".join(cases)}</testsuite>'
    if any(link.pytest == "cut" for link in links.values()):
        document = document[: len(document) // 2]
    else:
        ElementTree.fromstring(document)
    tests = judge(EXPECTED, read_junit(document, EXPECTED), why_missing="not run")
    return make_certificate(
        node="n1",
        serials={},
        recipe="r",
        image="i",
        tests=certified_results(WANTED, tests, {"power": power}),
        issued=datetime(2026, 11, 30, tzinfo=UTC),
    )


ANY_LINK = st.builds(
    Link,
    rc=st.one_of(st.just(0), st.sampled_from([1, 2, 124, 126, 127, 137, 255, -1]), st.integers(1, 255)),
    text=st.one_of(st.none(), st.text(max_size=80), st.sampled_from(["", "FAULTY", "+F:1:x:0", "0 bytes copied, 0 s"])),
    way=st.sampled_from(["there", "there", "there", "lost", "hang"]),
    pytest=st.sampled_from(["passed", "passed", "passed", "failed", "error", "skipped", "absent", "cut"]),
    value=st.one_of(st.none(), st.sampled_from(["nan", "inf", "-inf", "", "x", "19.99", "-1", "0", "1e999"])),
)


LINKS = st.one_of(st.just(Link()), ANY_LINK)


@settings(max_examples=300)
@given(first=LINKS, second=LINKS, service=st.sampled_from(["", "<failure/>", "<error/>", "<skipped/>", "<rerun/>"]))
def test_only_a_chain_without_a_wrong_link_ends_in_a_pass(first: Link, second: Link, service: str) -> None:
    found = certificate({"cpu-hash": first, "disk-read": second}, service=service)
    assert (found.verdict == "PASS") == (first.is_sound and second.is_sound and not service)
    assert [test.name for test in found.tests] == ["service:ssh", *NAMES], "every required test is listed"


@given(link=LINKS)
def test_one_wrong_link_is_seen_in_its_own_test(link: Link) -> None:
    if not link.is_sound and link.pytest != "cut":
        found = certificate({"cpu-hash": link, "disk-read": Link()})
        verdicts = {test.name: test.verdict for test in found.tests}
        assert verdicts["cpu-hash"] != "PASS"
        assert verdicts["disk-read"] == "PASS"


def test_a_sound_chain_passes_and_each_sort_of_wrong_link_ends_as_it_should() -> None:
    sound = {name: Link() for name in NAMES}
    assert certificate(sound).verdict == "PASS"
    for change, verdict in (
        ({"rc": 1}, "FAIL"),
        ({"rc": 255}, "FAIL"),
        ({"rc": 127}, "NOT-RUN"),
        ({"text": ""}, "NOT-RUN"),
        ({"text": "+F:1:x:1e6"}, "FAIL"),
        ({"way": "lost"}, "NOT-RUN"),
        ({"way": "hang"}, "FAIL"),
        ({"pytest": "skipped"}, "NOT-RUN"),
        ({"pytest": "absent"}, "NOT-RUN"),
        ({"pytest": "error"}, "NOT-RUN"),
        ({"pytest": "failed"}, "FAIL"),
        ({"value": "nan"}, "NOT-RUN"),
        ({"value": "19.99"}, "FAIL"),
    ):
        links = {**sound, "cpu-hash": replace(Link(), **change)}
        assert certificate(links).verdict == verdict, change


def test_of_two_results_of_one_test_the_worse_counts() -> None:
    for inside in ("<failure/>", "<skipped/>"):
        good, bad = case("cpu-hash", Link()), f'<testcase name="test_measured[cpu-hash]">{inside}</testcase>'
        for document in (good + bad, bad + good):
            found = read_junit(f"<testsuite>{document}</testsuite>", EXPECTED)
            assert found["cpu-hash"].verdict != "PASS"
