"""The text that Prometheus reads: every value where it belongs, and none where nothing is known."""

from __future__ import annotations

import shutil
import subprocess
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.desired import blueprint

from metalwright.model.sensors import Fan, MachineSensors, PowerSupply, Temperature
from metalwright.monitoring.exposition import METRICS, Sample, exposition
from metalwright.monitoring.samples import blueprint_samples, event_samples, sensor_samples
from metalwright.runner.bmc_metrics import Sweep

NODE = {"node": "n1"}
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_what_is_unknown_has_no_line() -> None:
    sensors = MachineSensors(
        temperatures=(Temperature("CPU 1", 55.5, 95.0), Temperature("Inlet", 21, is_inlet=True)),
        fans=(Fan("F1", rpm=6000, is_ok=True), Fan("F2")),
        psus=(PowerSupply("P1", True), PowerSupply("P2", False), PowerSupply("P3", None)),
    )
    assert lines(exposition(sensor_samples(NODE, sensors))) == [
        'metalwright_bmc_temperature_celsius{node="n1",sensor="CPU 1"} 55.5',
        'metalwright_bmc_temperature_celsius{node="n1",sensor="Inlet"} 21',
        'metalwright_bmc_temperature_limit_celsius{node="n1",sensor="CPU 1"} 95',
        'metalwright_bmc_inlet_celsius{node="n1",sensor="Inlet"} 21',
        'metalwright_bmc_fan_rpm{node="n1",fan="F1"} 6000',
        'metalwright_bmc_fan_ok{node="n1",fan="F1"} 1',
        'metalwright_bmc_psu_ok{node="n1",psu="P1"} 1',
        'metalwright_bmc_psu_ok{node="n1",psu="P2"} 0',
        'metalwright_bmc_psus{node="n1"} 3',
    ]
    assert lines(exposition(sensor_samples(NODE, MachineSensors()))) == []


def test_the_blueprint_says_what_to_expect_and_nothing_that_it_leaves_open() -> None:
    bare = list(blueprint_samples(NODE, blueprint()))
    power = {"idle_w": 1, "typical_w": 2, "max_w": 3, "inlet_max_c": 32}
    full = lines(exposition(blueprint_samples(NODE, blueprint(power=power, policy={"power_cap_w": 700}))))
    assert bare == []
    assert full == [
        'metalwright_node_gpu_power_cap_watts{node="n1"} 700',
        'metalwright_node_power_limit_watts{node="n1"} 3',
        'metalwright_node_inlet_limit_celsius{node="n1"} 32',
    ]


def test_events_are_counted_by_severity_and_zero_is_known() -> None:
    found = lines(exposition(event_samples(NODE, [("Critical", NOW), ("critical", None), ("OK", NOW)])))
    assert 'metalwright_bmc_event_log_entries{node="n1",severity="critical"} 2' in found
    assert 'metalwright_bmc_event_log_entries{node="n1",severity="warning"} 0' in found
    assert len([line for line in found if "newest" in line]) == 2


def test_an_old_sweep_shows_nothing_but_its_age() -> None:
    sweep = Sweep(NOW, (Sample("metalwright_bmc_up", 1, NODE),))
    assert len(lines(sweep.text(NOW + timedelta(seconds=899), 300))) == 2
    assert lines(sweep.text(NOW + timedelta(seconds=901), 300)) == [
        f"metalwright_sweep_timestamp_seconds {int(NOW.timestamp())}"
    ]


def test_a_metric_without_a_line_of_help_is_a_fault_of_the_code() -> None:
    with pytest.raises(KeyError):
        exposition([Sample("metalwright_new", 1)])


@given(st.text(max_size=20))
def test_any_name_of_a_sensor_stays_inside_its_label(name: str) -> None:
    text = exposition([Sample("metalwright_bmc_temperature_celsius", 1, {"sensor": name})])
    body = text.removeprefix("\n".join(text.split("\n")[:2]) + "\n")
    value = body.removeprefix('metalwright_bmc_temperature_celsius{sensor="').removesuffix('"} 1\n')
    assert value.replace("\\\\", "\\").replace('\\"', '"').count("\n") == 0
    assert not value.replace("\\\\", "").replace('\\"', "").count('"')


def test_promtool_takes_the_page() -> None:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool is not installed here")
    page = exposition(Sample(name, 1.5, {"sensor": 'a "b"\n\\c'}) for name in METRICS)
    done = subprocess.run([program, "check", "metrics"], input=page, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
