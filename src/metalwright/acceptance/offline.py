"""What can be said of the acceptance tests of blueprints with no node in reach."""

from __future__ import annotations

from collections.abc import Iterator

from metalwright.acceptance.burn_in.tests import BURN_IN, LESS_IS_BETTER
from metalwright.acceptance.catalogue import KNOWN_TESTS
from metalwright.acceptance.floors import FloorFinding, floor_findings
from metalwright.errors import LoadingError
from metalwright.loading import SitePaths, load_model
from metalwright.model.blueprint import AcceptanceTest, Blueprint
from metalwright.model.repository import SiteRepository


def acceptance_errors(paths: SitePaths, repository: SiteRepository) -> Iterator[LoadingError]:
    """Tests that can never run: of GPUs that the blueprint has not, or against a peer that the site does not name.

    And ``seconds`` that no load lasts, and floors of what is better the less it is.
    """
    for ref, blueprint in sorted(repository.blueprints.items()):
        for index, test in enumerate(blueprint.acceptance):
            found = (
                _without_load(test)
                or _less_is_better(test)
                or _missing(blueprint, test.test, repository.site.acceptance_peer)
            )
            if found is not None:
                key, found.rule = found.where, "acceptance"
                found.where = load_model(paths.blueprint(ref), Blueprint, root=paths.root).where(
                    "acceptance", index, key
                )
                yield found


def floor_warnings(paths: SitePaths, repository: SiteRepository) -> Iterator[LoadingError]:
    """Floors far below what others publish for such a system; for blueprints in use also that nobody publishes one."""
    in_use = {node.blueprint for node in repository.nodes()}
    for ref, blueprint in sorted(repository.blueprints.items()):
        for finding in floor_findings(blueprint):
            if finding.published is None and ref not in in_use:
                continue
            warning = _floor_warning(blueprint, finding)
            if warning is not None:
                source = load_model(paths.blueprint(ref), Blueprint, root=paths.root)
                warning.where = source.where("acceptance", finding.index, "floor")
                warning.rule = "acceptance"
                yield warning


def _floor_warning(blueprint: Blueprint, finding: FloorFinding) -> LoadingError | None:
    test, row, gpus = finding.test, finding.published, blueprint.hardware.gpus
    system = f"{gpus.count} x {gpus.model}" if gpus is not None else blueprint.name
    if row is None:
        return LoadingError(
            f"no published floor is known of {test.test} on {system}",
            found=f"a floor of {test.floor:g} {test.unit} that nothing confirms",
            hint="take it from your first good nodes, and give the test a fleet_band",
        )
    if not finding.is_far_below:
        return None
    return LoadingError(
        f"the floor of {test.test} is far below what such a system reaches",
        expected=f"about {row.floor:g} {test.unit} for {row.count} x {row.gpu} ({row.measured}; {row.source})",
        found=f"{test.floor:g} {test.unit}",
        hint="a node with a broken link would pass",
    )


def _without_load(test: AcceptanceTest) -> LoadingError | None:
    """Seconds that nothing would last; the error's place is a key."""
    measurement = BURN_IN.get(test.test)
    if test.seconds is None or test.test not in KNOWN_TESTS or (measurement is not None and measurement.takes_seconds):
        return None
    why = (
        "runs no command that could last so long"
        if measurement is None
        else "lasts as long as its work, whatever is asked"
    )
    return LoadingError(
        f"acceptance test {test.test} {why}",
        where="seconds",
        expected="no seconds",
        found=str(test.seconds),
    )


def _less_is_better(test: AcceptanceTest) -> LoadingError | None:
    if test.floor is None or test.test not in LESS_IS_BETTER:
        return None
    return LoadingError(
        f"a floor of {test.test} would refuse good values and let bad ones pass: less is better",
        where="floor",
        expected="record: true; its own limit holds without a floor",
        found=f"{test.floor:g}",
    )


def _missing(blueprint: Blueprint, name: str, peer: str | None) -> LoadingError | None:
    """What the test needs, what is there instead, and a hint; the error's place is a key."""
    test, gpus = BURN_IN.get(name), blueprint.hardware.gpus
    if test is None:
        return None
    if "gpus" in test.needs and gpus is None:
        return _never(name, "a blueprint with hardware.gpus", "none", None)
    if gpus is not None and test.variant(gpus.vendor) is None:
        makers = " or ".join(sorted(test.variants))
        hint = "docs/reference/acceptance-tests.md lists the tests of each maker"
        return _never(name, f"GPUs of {makers}", gpus.vendor, hint)
    if "peer" in test.needs and peer is None:
        hint = "it is the machine at the other end of the test"
        return _never(name, "acceptance_peer in inventory/site.yaml", "none", hint)
    return None


def _never(name: str, expected: str, found: str, hint: str | None) -> LoadingError:
    what = f"acceptance test {name} can never run"
    return LoadingError(what, where="test", expected=expected, found=found, hint=hint)
