from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Mapping
from typing import Any
from unittest.mock import patch

import pytest
from tests.unit.inventory.trees import ROOT, SYS, collection, link, machine, with_members

from metalwright.errors import BmcAuthError, BmcRefusedError, BmcUnreachableError
from metalwright.redfish.inventory import CapturedTree, read_reports
from metalwright.redfish.inventory.walk import SILENT_READS, Listing, Walk

LIST = f"{SYS}/Memory"


async def listing_of(tree: dict[str, Any]) -> tuple[Listing, str]:
    walk = Walk(CapturedTree(tree))
    listing = await walk.listing(LIST)
    return listing, "\n".join(problem.what for problem in walk.problems)


def members(*numbers: int) -> dict[str, Any]:
    return {f"{LIST}/{n}": {"Id": str(n)} for n in numbers}


@pytest.mark.parametrize("name", ["Members@odata.nextLink", "@odata.nextLink"])
@pytest.mark.parametrize("query", ["$skip=2", "?skip=2".lstrip("?"), "$skiptoken=2"])
async def test_all_pages_are_read(name: str, query: str) -> None:
    first = collection(f"{LIST}/1", f"{LIST}/2", **{"Members@odata.count": 3, name: f"{LIST}?{query}"})
    tree = {LIST: first, f"{LIST}?{query}": collection(f"{LIST}/3", **{"Members@odata.count": 3}), **members(1, 2, 3)}
    listing, _ = await listing_of(tree)
    assert [item.id for item in listing.resources] == ["1", "2", "3"]
    assert listing.is_complete


async def test_pages_that_loop_end() -> None:
    tree = {LIST: collection(f"{LIST}/1", **{"Members@odata.nextLink": LIST}), **members(1)}
    listing, said = await listing_of(tree)
    assert len(listing.resources) == 1
    assert not listing.is_complete
    assert "the pages loop" in said


async def test_members_that_repeat_count_once_and_a_count_that_promises_more_is_told() -> None:
    tree = {LIST: collection(f"{LIST}/1", f"{LIST}/1/", **{"Members@odata.count": 2}), **members(1)}
    listing, said = await listing_of(tree)
    assert len(listing.resources) == 1
    assert not listing.is_complete
    assert "2 members, 1 different" in said


@pytest.mark.parametrize("value", [link(f"{LIST}/1"), {"0": link(f"{LIST}/1")}])
async def test_members_that_are_an_object_are_read(value: dict[str, Any]) -> None:
    listing, _ = await listing_of({LIST: {"Members": value}, **members(1)})
    assert [item.id for item in listing.resources] == ["1"]


async def test_a_collection_without_members_is_unknown_unless_it_counts_zero() -> None:
    unknown, said = await listing_of({LIST: {"@odata.type": "#MemoryCollection.MemoryCollection"}})
    assert (unknown.is_known, "lists no Members" in said) == (False, True)
    empty, _ = await listing_of({LIST: {"Members@odata.count": 0}})
    assert (empty.is_known, empty.is_complete, empty.resources) == (True, True, ())


async def test_a_partial_answer_is_used_and_told() -> None:
    tree = {LIST: collection(f"{LIST}/1", error={"code": "Base.1.8.InternalError"}), **members(1)}
    listing, said = await listing_of(tree)
    assert len(listing.resources) == 1
    assert "answers in part" in said


async def test_the_read_budget_ends_a_walk() -> None:
    tree = CapturedTree(with_members(machine(), SYS, "Memory", *({"Id": str(n)} for n in range(500))))
    (report,) = await read_reports(tree, read_budget=50)
    assert len(tree.reads) <= 50
    assert any("read budget of 50" in problem.what for problem in report.problems)


class Failing:
    """Serves a tree and fails for one URI."""

    def __init__(self, tree: dict[str, Any], error: Exception, *uris: str) -> None:
        self._tree, self._error, self._uris = CapturedTree(tree), error, uris

    async def get(self, path: str) -> Mapping[str, Any]:
        if any(path.startswith(uri) for uri in self._uris):
            raise self._error
        return await self._tree.get(path)


async def test_a_refused_login_ends_the_walk() -> None:
    reader = Failing(machine(), BmcAuthError("login refused", status=401), SYS)
    with pytest.raises(BmcAuthError):
        await read_reports(reader)


async def test_one_silent_resource_is_unknown_and_a_silent_bmc_is_an_error() -> None:
    tree = with_members(machine(), SYS, "Memory", *({"Id": str(n), "CapacityMiB": 1024} for n in range(SILENT_READS)))
    silent = BmcUnreachableError("no answer in 60 s")
    (report,) = await read_reports(Failing(tree, silent, f"{LIST}/0"))
    assert report.memory.dimms is not None
    assert [dimm.size_gib for dimm in report.memory.dimms] == [None, 1, 1]
    with pytest.raises(BmcUnreachableError):
        await read_reports(Failing(tree, silent, f"{LIST}/"))


async def test_an_unreadable_list_of_systems_is_an_error_not_an_empty_bmc() -> None:
    reader = Failing(machine(), BmcRefusedError("internal error", status=500), f"{ROOT}/Systems")
    with pytest.raises(Exception, match="list of systems"):
        await read_reports(reader)


def test_nothing_of_a_pass_stays_when_its_report_is_made() -> None:
    """A resource knows its walk and the walk its resources: a sweep over a fleet would pile them up."""
    walks: list[weakref.ref[Walk]] = []

    def remember(reader: Any, budget: int) -> Walk:
        walk = Walk(reader, budget)
        walks.append(weakref.ref(walk))
        return walk

    gc.disable()
    try:
        with patch("metalwright.redfish.inventory.report.Walk", remember):
            asyncio.run(read_reports(CapturedTree(machine())))
        assert [walk() for walk in walks] == [None]
    finally:
        gc.enable()
