"""A rack at full load, feed by feed and phase by phase, with all feeds and with any one of them lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.unit.loading.conftest import BrokenSite

from metalwright.errors import LoadingError

RACK = "inventory/racks/r1.yaml"
BOX = "blueprints/box/1.0.0.yaml"
THREE = "{name: a, volts: 400, phases: 3, breaker_a: 16}, {name: b, volts: 400, phases: 3, breaker_a: 16}"
"""8.87 kW a feed, 2.96 kW a phase."""


def with_cords(site: BrokenSite, *cords: str, feeds: str = "") -> None:
    for number, text in enumerate(cords, 1):
        site.edit(RACK, f"serial: S-{number},", f"serial: S-{number}, cords: [{text}],")
    if feeds:
        site.edit(RACK, "{name: a, volts: 230, breaker_a: 16}, {name: b, volts: 230, breaker_a: 16}", feeds)


def on(feeds: str, phase: str = "") -> str:
    where = f", phase: {phase}" if phase else ""
    return ", ".join(f"{{feed: {feed}{where}}}" for feed in feeds)


def test_balanced_cords_need_no_word(site: BrokenSite) -> None:
    with_cords(site, on("ab", "L1"), on("ab", "L2"), feeds=THREE)
    site.edit(BOX, "max_w: 1000", "max_w: 2900")
    assert [item.what for item in site.read().warnings if item.rule == "power"] == []


def test_a_phase_that_is_overloaded_is_named_with_its_watts(
    site: BrokenSite, warning_of: Callable[[], LoadingError]
) -> None:
    with_cords(site, on("ab", "L1"), on("ab", "L1"), feeds=THREE)
    site.edit(BOX, "max_w: 1000", "max_w: 3000")
    warning = warning_of()
    assert warning.what == "rack r1: phase L1 of feed a is overloaded at full load"
    assert (warning.expected, warning.found) == ("at most 3.0 kW continuously (80 % of its breaker)", "3.0 kW")
    assert warning.where.startswith(f"{site.root / RACK}:5:")


def test_a_phase_that_only_a_lost_feed_overloads_says_which(
    site: BrokenSite, warning_of: Callable[[], LoadingError]
) -> None:
    with_cords(site, on("ab", "L3"), on("ab", "L3"), feeds=THREE)
    site.edit(BOX, "max_w: 1000", "max_w: 2000")
    warnings = [item for item in site.read().warnings if item.rule == "power"]
    assert [item.what for item in warnings] == [
        "rack r1: phase L3 of feed b is overloaded at full load when feed a is lost",
        "rack r1: phase L3 of feed a is overloaded at full load when feed b is lost",
    ]
    assert {item.found for item in warnings} == {"4.0 kW"}


def test_one_feed_may_be_overloaded_while_the_rack_is_not(site: BrokenSite) -> None:
    with_cords(
        site, on("a"), on("a"), feeds=", ".join(f"{{name: {name}, volts: 230, breaker_a: 16}}" for name in "abc")
    )
    site.edit(BOX, "max_w: 1000", "max_w: 1500")
    told = [(item.rule, item.what) for item in site.read().warnings if item.rule in ("power", "single_feeds")]
    assert told == [
        ("power", "rack r1: feed a is overloaded at full load"),
        ("single_feeds", "node n1 hangs on feed a alone and stops with it"),
        ("single_feeds", "node n2 hangs on feed a alone and stops with it"),
    ]


def test_nodes_without_cords_count_as_spread_over_all_phases(site: BrokenSite) -> None:
    with_cords(site, on("ab", "L1"), feeds=THREE)
    site.edit(BOX, "max_w: 1000", "max_w: 2200")
    assert [item.what for item in site.read().warnings if item.rule == "power"] == []
    site.edit(BOX, "max_w: 2200", "max_w: 2300")
    assert [item.found for item in site.read().warnings if item.rule == "power"] == ["3.1 kW", "3.1 kW"]


@pytest.mark.parametrize(
    ("cords", "what"),
    [
        ("{feed: c}", "node n1: rack r1 has no feed 'c'"),
        ("{feed: a, phase: L2}", "node n1: feed a has one phase, so a cord on it names none"),
    ],
)
def test_a_cord_that_cannot_be_is_refused(site: BrokenSite, cords: str, what: str) -> None:
    with_cords(site, cords)
    said, where = site.only_error()
    assert said == what
    assert where.startswith(f"{RACK}:7:")
