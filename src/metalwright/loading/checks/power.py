"""Power and cooling of racks: what the nodes draw at full load against what feeds, phases and cooling can carry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from metalwright.errors import LoadingError
from metalwright.loading.messages import nearest
from metalwright.loading.models import Loaded
from metalwright.loading.site_files import SiteFiles
from metalwright.model.rack import PHASES_OF_FEED, Node, PowerFeed, Rack

_DRAWING_STATES = ("ready", "spare", "held", "quarantined")
_REMEDY = "fewer or smaller servers, another feed, or a lower power.max_w (power cap) in the blueprint"

Loads = dict[tuple[str, str], float]
"""Feed and phase → watts."""


@dataclass(frozen=True)
class _Drawing:
    """A node that draws ``watts`` at full load."""

    node: Node
    watts: int


def check_cords(files: SiteFiles) -> Iterator[LoadingError]:
    """Every cord hangs on a feed of its rack, and on a phase that this feed has."""
    for rack in files.racks:
        feeds = {feed.name: feed for feed in rack.model.feeds}
        for index, node in enumerate(rack.model.nodes):
            for number, cord in enumerate(node.cords):
                feed = feeds.get(cord.feed)
                if feed is None:
                    yield LoadingError(
                        f"node {node.name}: rack {rack.model.name} has no feed {cord.feed!r}",
                        where=rack.where("nodes", index, "cords", number, "feed"),
                        hint=nearest(cord.feed, feeds),
                    )
                elif cord.phase is not None and feed.phases == 1:
                    yield LoadingError(
                        f"node {node.name}: feed {cord.feed} has one phase, so a cord on it names none",
                        where=rack.where("nodes", index, "cords", number, "phase"),
                        found=cord.phase,
                        hint="leave phase out, or say phases: 3 of the feed if it has three",
                    )


def check_budgets(files: SiteFiles) -> Iterator[LoadingError]:
    """A server draws no more than all of its power supplies deliver; racks are judged by the nodes in them."""
    for blueprint in files.blueprints.values():
        budget, psus = blueprint.model.power, blueprint.model.hardware.psus
        if budget is None or psus is None or psus.watts is None or budget.max_w <= psus.count * psus.watts:
            continue
        yield LoadingError(
            "the server would draw more than its power supplies deliver",
            where=blueprint.where("power", "max_w"),
            expected=f"at most {psus.count * psus.watts} W ({psus.count} × {psus.watts} W in hardware.psus)",
            found=f"{budget.max_w} W",
        )


def warn_of_power(files: SiteFiles) -> Iterator[LoadingError]:
    """Each rack at full load: with all feeds, with any one of them lost, by phase; and its cooling.

    A node's load is shared equally by its cords. Where a node declares none, it is spread over all feeds.
    """
    for rack in files.racks:
        drawing = _drawing(files, rack.model)
        drawn_w = sum(item.watts for item in drawing)
        if drawn_w and rack.model.feeds:
            yield from _feeds(rack, drawing, drawn_w)
        cooling_kw = rack.model.cooling_kw
        if cooling_kw is not None and drawn_w > cooling_kw * 1000:
            yield LoadingError(
                f"rack {rack.model.name} can draw more than it can cool",
                where=rack.where("cooling_kw"),
                expected=f"at most {cooling_kw:g} kW",
                found=f"{_kw(drawn_w)} at full load",
                hint=_REMEDY.replace("another feed", "more cooling"),
            )


def warn_of_single_feeds(files: SiteFiles) -> Iterator[LoadingError]:
    """Nodes that stop with one feed, although their rack has more."""
    for rack in files.racks:
        for index, node in enumerate(rack.model.nodes):
            names = {cord.feed for cord in node.cords}
            if len(names) == 1 and len(rack.model.feeds) > 1 and node.state in _DRAWING_STATES:
                yield LoadingError(
                    f"node {node.name} hangs on feed {names.pop()} alone and stops with it",
                    where=rack.where("nodes", index, "cords"),
                    expected="cords on two feeds",
                    hint="plug its second cord into another feed, and declare it",
                )


def _drawing(files: SiteFiles, rack: Rack) -> list[_Drawing]:
    found = []
    for node in rack.nodes:
        blueprint = files.blueprints.get(node.blueprint)
        budget = blueprint.model.power if blueprint is not None else None
        if budget is not None and node.state in _DRAWING_STATES:
            found.append(_Drawing(node, budget.max_w))
    return found


def _feeds(rack: Loaded[Rack], drawing: list[_Drawing], drawn_w: int) -> Iterator[LoadingError]:
    feeds = {feed.name: feed for feed in rack.model.feeds}
    total_w = sum(feed.usable_w for feed in feeds.values())
    if drawn_w > total_w:
        yield LoadingError(
            f"rack {rack.model.name} can draw more than its feeds carry",
            where=rack.where("feeds"),
            expected=f"at most {_kw(total_w)} continuously with all {len(feeds)} feeds",
            found=f"{_kw(drawn_w)} at full load",
            hint=_REMEDY,
        )
        return
    has_cords = any(item.node.cords for item in drawing)  # without, each phase carries its share of the whole
    overloaded = _overloaded(feeds, drawing) if has_cords else None
    if overloaded is not None:
        yield _overload(rack, feeds, overloaded, "")
    if len(feeds) > 1:
        yield from _lost_feed(rack, feeds, drawing, drawn_w, total_w, is_overloaded=overloaded is not None)


def _lost_feed(
    rack: Loaded[Rack],
    feeds: Mapping[str, PowerFeed],
    drawing: list[_Drawing],
    drawn_w: int,
    total_w: float,
    *,
    is_overloaded: bool,
) -> Iterator[LoadingError]:
    degraded_w = total_w - max(feed.usable_w for feed in feeds.values())
    if drawn_w > degraded_w:
        yield LoadingError(
            f"rack {rack.model.name} is not redundant: without its largest feed the others are overloaded at full load",
            where=rack.where("feeds"),
            expected=f"at most {_kw(degraded_w)} with one feed lost",
            found=f"{_kw(drawn_w)} at full load ({_kw(total_w)} with all feeds)",
            hint=_REMEDY,
        )
        return
    if not any(item.node.cords for item in drawing):
        return
    for lost in feeds:
        overloaded = _overloaded({name: feed for name, feed in feeds.items() if name != lost}, drawing)
        if overloaded is not None and not is_overloaded:
            yield _overload(rack, feeds, overloaded, f" when feed {lost} is lost")


def _overloaded(feeds: Mapping[str, PowerFeed], drawing: list[_Drawing]) -> tuple[str, str, float] | None:
    """The feed and phase with the greatest excess over what it carries, and its load in watts; ``None``: all carry."""
    loads = _loads(feeds, drawing)
    excess = {key: watts - feeds[key[0]].usable_phase_w for key, watts in loads.items()}
    worst = max(excess, key=lambda key: excess[key], default=None)
    return (*worst, loads[worst]) if worst is not None and excess[worst] > 0.5 else None


def _loads(feeds: Mapping[str, PowerFeed], drawing: list[_Drawing]) -> Loads:
    loads: Loads = {(name, phase): 0.0 for name, feed in feeds.items() for phase in PHASES_OF_FEED[feed.phases]}
    total_w = sum(feed.usable_w for feed in feeds.values())
    for item in drawing:
        live = [cord for cord in item.node.cords if cord.feed in feeds]
        if not item.node.cords:
            for name, phase in loads:
                loads[name, phase] += item.watts * feeds[name].usable_phase_w / total_w
        for cord in live:
            phases = (cord.phase,) if cord.phase is not None else PHASES_OF_FEED[feeds[cord.feed].phases]
            for phase in phases:
                if (cord.feed, phase) in loads:
                    loads[cord.feed, phase] += item.watts / len(live) / len(phases)
    return loads


def _overload(
    rack: Loaded[Rack], feeds: Mapping[str, PowerFeed], overloaded: tuple[str, str, float], when: str
) -> LoadingError:
    name, phase, watts = overloaded
    feed = feeds[name]
    what = f"phase {phase} of feed {name}" if feed.phases == 3 else f"feed {name}"
    derating = f"{feed.derating * 100:g} % of its breaker"
    return LoadingError(
        f"rack {rack.model.name}: {what} is overloaded at full load{when}",
        where=rack.where("feeds", list(feeds).index(name)),
        expected=f"at most {_kw(feed.usable_phase_w)} continuously ({derating})",
        found=_kw(watts),
        hint="move a cord to another phase or feed; " + _REMEDY if feed.phases == 3 else _REMEDY,
    )


def _kw(watts: float) -> str:
    return f"{watts / 1000:.1f} kW"
