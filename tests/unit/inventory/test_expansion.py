"""Reading a collection in one answer: only where it is offered, and only where the answer is true."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from tests.unit.inventory.trees import ROOT, SYS, Tree, machine, with_members

from metalwright.errors import BmcRefusedError
from metalwright.redfish.inventory import CapturedTree, read_reports
from metalwright.redfish.inventory.expansion import expand_query

DIMM = {"CapacityMiB": 16384, "Status": {"State": "Enabled"}}
DIMMS = [{"Id": f"DIMM{n}", "PartNumber": f"P{n}", **DIMM} for n in range(8)]
Answer = Callable[[dict[str, Any]], Mapping[str, Any]]


def plain_tree() -> Tree:
    return with_members(machine(MemorySummary={"TotalSystemMemoryGiB": 128}), SYS, "Memory", *DIMMS)


def tree() -> Tree:
    """The same, by a BMC that offers to expand."""
    made = plain_tree()
    made[ROOT] = {**made[ROOT], "ProtocolFeaturesSupported": {"ExpandQuery": {"NoLinks": True, "Levels": True}}}
    return made


class Expanding(CapturedTree):
    """A BMC that answers ``$expand`` with what ``answer`` makes of the true members."""

    def __init__(self, bodies: Tree, answer: Answer) -> None:
        super().__init__(bodies)
        self._tree, self._answer_with = bodies, answer

    async def get(self, path: str) -> Mapping[str, Any]:
        bare, _, query = path.partition("?")
        if not query:
            return await super().get(path)
        self.reads.append(path)
        uris = [item["@odata.id"] for item in self._tree[bare]["Members"]]
        return self._answer_with({"Members": [{"@odata.id": uri, **self._tree[uri]} for uri in uris]})


def refusing(_: dict[str, Any]) -> Mapping[str, Any]:
    raise BmcRefusedError("no", where="GET", status=501)


def dropping(body: dict[str, Any]) -> Mapping[str, Any]:
    return {**body, "Members": [{k: v for k, v in item.items() if k != "PartNumber"} for item in body["Members"]]}


def emptying(body: dict[str, Any]) -> Mapping[str, Any]:
    return {**body, "Members": [{**item, "CapacityMiB": None} for item in body["Members"]]}


def cutting(body: dict[str, Any]) -> Mapping[str, Any]:
    return {**body, "Members": body["Members"][4:]}


def ignoring(body: dict[str, Any]) -> Mapping[str, Any]:
    return {**body, "Members": [{"@odata.id": item["@odata.id"]} for item in body["Members"]]}


def read(reader: CapturedTree) -> tuple[Any, int]:
    """The report, and how many requests were about memory."""
    (report,) = asyncio.run(read_reports(reader))
    return report.memory, sum("Memory" in path for path in reader.reads)


def test_a_true_expansion_replaces_the_reads_of_the_members() -> None:
    plain, plain_reads = read(CapturedTree(plain_tree()))
    expanded, reads = read(Expanding(tree(), lambda body: body))
    assert expanded == plain
    assert (plain_reads, reads) == (9, 3)


@pytest.mark.parametrize("answer", [refusing, dropping, emptying, ignoring])
def test_an_expansion_that_is_not_true_is_not_used(answer: Answer) -> None:
    plain, _ = read(CapturedTree(plain_tree()))
    expanded, reads = read(Expanding(tree(), answer))
    assert expanded == plain
    assert reads == 10


def test_members_that_an_expansion_leaves_out_are_read_by_themselves() -> None:
    plain, _ = read(CapturedTree(plain_tree()))
    expanded, reads = read(Expanding(tree(), cutting))
    assert expanded == plain
    assert reads == 1 + 1 + 1 + 4


def test_what_is_not_offered_is_not_asked_for() -> None:
    _, reads = read(Expanding(plain_tree(), refusing))
    assert reads == 9


@pytest.mark.parametrize(
    ("offered", "query"),
    [
        ({"NoLinks": True, "Levels": True}, "$expand=.($levels=1)"),
        ({"NoLinks": True, "Levels": False}, "$expand=."),
        ({"ExpandAll": True}, "$expand=*"),
        ({"NoLinks": "yes"}, None),
        ([], None),
    ],
)
def test_the_query_is_what_the_service_root_says(offered: Any, query: str | None) -> None:
    assert expand_query({"ProtocolFeaturesSupported": {"ExpandQuery": offered}}) == query
    assert expand_query({"ProtocolFeaturesSupported": offered}) is None
