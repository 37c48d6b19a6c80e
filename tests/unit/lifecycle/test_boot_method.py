"""The way to start the deploy ramdisk: a table of what is declared, offered and allowed, and what is taken then."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalwright.lifecycle.boot_method import NO_HTTP_TARGET, NO_HTTP_URI, NO_VIRTUAL_CD, choose_boot_method
from metalwright.model.boot import BootCapabilities, BootChoice, BootMethod

ALL = BootCapabilities(True, True, frozenset({"None", "Cd", "UefiHttp", "Pxe"}))
NO_CD = replace(ALL, has_virtual_cd=False)
ORDER: tuple[BootMethod, ...] = ("virtual-media", "uefi-http", "pxe")


@pytest.mark.parametrize(
    ("declared", "offered", "barred", "wanted"),
    [
        (
            ORDER,
            ALL,
            {},
            BootChoice(
                "virtual-media", (("uefi-http", "virtual-media comes first"), ("pxe", "virtual-media comes first"))
            ),
        ),
        (("virtual-media", "uefi-http"), NO_CD, {}, BootChoice("uefi-http", (("virtual-media", NO_VIRTUAL_CD),))),
        (("virtual-media",), NO_CD, {}, BootChoice(None, (("virtual-media", NO_VIRTUAL_CD),))),
        (("uefi-http",), replace(ALL, takes_http_uri=False), {}, BootChoice(None, (("uefi-http", NO_HTTP_URI),))),
        (
            ("uefi-http", "pxe"),
            replace(ALL, targets=frozenset({"Pxe"})),
            {},
            BootChoice("pxe", (("uefi-http", NO_HTTP_TARGET),)),
        ),
        (("pxe", "uefi-http"), ALL, {"pxe": "no leave"}, BootChoice("uefi-http", (("pxe", "no leave"),))),
        (("pxe",), replace(ALL, targets=None), {}, BootChoice("pxe")),
    ],
)
def test_the_first_declared_way_that_works_is_taken_and_the_others_say_why_not(
    declared: tuple[BootMethod, ...],
    offered: BootCapabilities,
    barred: dict[BootMethod, str],
    wanted: BootChoice,
) -> None:
    assert choose_boot_method(declared, offered, barred) == wanted


@given(
    declared=st.permutations(ORDER).flatmap(lambda order: st.integers(1, 3).map(lambda n: tuple(order[:n]))),
    has_cd=st.booleans(),
    takes_uri=st.booleans(),
    targets=st.none() | st.frozensets(st.sampled_from(["Cd", "UefiHttp", "Pxe"])),
    barred=st.sets(st.sampled_from(ORDER)),
)
def test_every_declared_way_is_taken_or_explained_and_a_barred_one_is_never_taken(
    declared: tuple[BootMethod, ...],
    has_cd: bool,
    takes_uri: bool,
    targets: frozenset[str] | None,
    barred: set[BootMethod],
) -> None:
    choice = choose_boot_method(
        declared, BootCapabilities(has_cd, takes_uri, targets), dict.fromkeys(barred, "not allowed")
    )
    explained = [method for method, _ in choice.why_not]
    assert sorted([*explained, *([choice.method] if choice.method else [])]) == sorted(declared)
    assert choice.method not in barred
    assert all(reason for _, reason in choice.why_not)
