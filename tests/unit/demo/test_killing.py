"""What the demo kills: the run that a runbook started, and not the runbook, which then says how to go on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from metalwright.demo import killing
from metalwright.demo.killing import KillSchedule, follow_killed_once
from metalwright.demo.shell import Shell
from metalwright.errors import LabError

RUNBOOK = """\
import pathlib, subprocess, sys
here = pathlib.Path(sys.argv[1])
with (here / "typed").open("a") as file:
    file.write(" ".join(sys.argv[2:]) + "\\n")
said = "print('  0.1s lab-1  image  booting', file=sys.stderr, flush=True)"
runner = f"import sys, time; {said}; time.sleep(float(sys.argv[1]))"
again = (here / "typed").read_text().count("\\n") > 1
code = subprocess.run([sys.executable, "-c", runner, "0" if again else sys.argv[3]]).returncode
with (here / "codes").open("a") as file:
    file.write(f"{code}\\n")
sys.exit(0 if code == 0 else 1)
"""


class TypedRunbook(Shell):
    """Types a program that starts a run as ``runbook run`` does."""

    def _argv(self, arguments: tuple[str, ...]) -> list[str]:
        return [sys.executable, "-c", RUNBOOK, str(self.site), *arguments]


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> KillSchedule:
    monkeypatch.setattr(killing, "LATEST_S", 0.3)
    return KillSchedule(7)


def test_the_run_below_is_killed_and_the_same_line_is_typed_again(tmp_path: Path, soon: KillSchedule) -> None:
    follow_killed_once(TypedRunbook(tmp_path, {}), soon, "run", "30")
    assert (tmp_path / "codes").read_text().split() == ["-9", "0"]
    assert (tmp_path / "typed").read_text() == "run 30\nrun 30\n"


def test_a_run_that_ends_before_its_image_phase_is_told(tmp_path: Path, soon: KillSchedule) -> None:
    soon.next_instant_s = lambda: 60.0  # type: ignore[method-assign]  # later than the run ends
    with pytest.raises(LabError, match="ended before it could be killed"):
        follow_killed_once(TypedRunbook(tmp_path, {}), soon, "run", "0")
