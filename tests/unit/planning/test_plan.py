"""Plans bind: the same world gives the same bytes, and anything that moved is named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from metalwright.errors import PlanError
from metalwright.lifecycle.observations import AddressObservation, AttributeChange, BiosObservation
from metalwright.model.blueprint import Blueprint
from metalwright.model.phase import Phase
from metalwright.model.plan import Disruption, Plan
from metalwright.model.rack import Node
from metalwright.planning import Desired, check_allowed, check_still_holds, make_plan, plan_node, verify_digest

BLUEPRINT = Blueprint.model_validate(
    {
        "schema": 1,
        "name": "lab-vm",
        "version": "1.0.0",
        "class": {"role": "lab", "owner": "infra"},
        "hardware": {
            "system": {"manufacturer": "QEMU", "models": ["lab-vm"]},
            "cpus": {"count": 1},
            "memory": {"total_gib": 1},
            "drives": [{"role": "system", "count": 1, "min_bytes": 5}],
        },
        "image": {"name": "debian", "version": "1", "file_sha256": "a" * 64},
        "acceptance": [{"test": "disk-read", "record": True}],
    }
)


def desired(name: str = "n1", recipe: str = "sha256:r1") -> Desired:
    node = Node.model_validate(
        {"name": name, "serial": f"S-{name}", "bmc_mac": "52:54:00:00:00:01", "blueprint": "lab-vm@1.0.0"}
    )
    return Desired(node, BLUEPRINT, recipe, {"oob": "10.0.0.2"}, disk_serial="D1")


def plan(current: str = "10.0.0.99", recipe: str = "sha256:r1", attribute: str = "Disabled") -> Plan:
    wanted = desired(recipe=recipe)
    observed = {
        Phase.BIOS: BiosObservation("lab", to_write=(AttributeChange("SrIov", attribute, "Enabled"),)).changes(),
        Phase.ADDRESS: AddressObservation("10.0.0.2", current, answers_at_allocated=False).changes(),
    }
    return make_plan([wanted], [plan_node(wanted, observed, {Phase.IMAGE: "power is off"})])


def test_changes_come_in_phase_order_whatever_the_order_of_observation() -> None:
    assert [change.phase for change in plan().nodes[0].changes] == [Phase.ADDRESS, Phase.BIOS]
    assert plan().nodes[0].unknown == ("image: power is off",)
    assert plan().nodes[0].estimate.reboots == 1


def test_the_same_world_gives_the_same_plan() -> None:
    assert plan() == plan()


def test_a_plan_that_still_holds_is_accepted_after_a_round_trip_through_json() -> None:
    again = Plan.model_validate_json(plan().model_dump_json(by_alias=True))
    verify_digest(again)
    check_still_holds(again, plan())


def test_an_observed_value_that_moved_is_named() -> None:
    with pytest.raises(PlanError) as caught:
        check_still_holds(plan(), plan(attribute="Auto"))
    assert "SrIov" in str(caught.value)


def test_a_recipe_that_moved_is_named() -> None:
    with pytest.raises(PlanError) as caught:
        check_still_holds(plan(), plan(recipe="sha256:r2"))
    assert "recipe" in str(caught.value)


def test_an_edited_plan_file_is_refused() -> None:
    made = plan()
    edited = made.model_copy(update={"nodes": (made.nodes[0].model_copy(update={"disk_serial": "D2"}),)})
    with pytest.raises(PlanError, match="changed after it was made"):
        verify_digest(edited)


def test_a_value_that_moved_is_named_with_both_of_its_values() -> None:
    moved = BLUEPRINT.model_copy(update={"image": BLUEPRINT.image.model_copy(update={"version": "2"})})
    old, new = desired(), replace(desired(recipe="sha256:r2"), blueprint=moved)
    plans = [make_plan([wanted], [plan_node(wanted, {}, {})]) for wanted in (old, new)]
    with pytest.raises(PlanError) as caught:
        check_still_holds(*plans)
    assert caught.value.found == "blueprints.lab-vm@1.0.0.image.version: 1 → 2"


def test_the_wanted_values_of_a_plan_file_cannot_be_edited() -> None:
    made = plan()
    edited = made.model_copy(update={"wanted": {**made.wanted, "shared": {"site": {"name": "other"}}}})
    with pytest.raises(PlanError, match="changed after it was made"):
        verify_digest(edited)


def test_each_kind_of_disruption_must_be_allowed_by_its_name() -> None:
    check_allowed(plan(), [Disruption.REBOOT])
    with pytest.raises(PlanError, match="holds a reboot that was not allowed") as caught:
        check_allowed(plan(), [Disruption.REIMAGE])
    assert caught.value.hint == "add --allow reboot"
    assert plan().disruptions == (Disruption.REBOOT,)
