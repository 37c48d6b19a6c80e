"""A run that was cancelled stops where nothing is half done."""

from __future__ import annotations

import pytest

from metalwright.lifecycle import CANCELLED, Act, Decision, Done, Effect, Failed, Wait, heed_cancel
from metalwright.model.phase import Phase

OVER = Failed("late", "too late")
WAIT = Wait(5.0, "the ramdisk boots", 60.0, OVER)
WRITE = Act("media", "insert the medium", Effect.DESTROY, cleanup="power_off")
READ = Act("look", "look again", Effect.READ)


@pytest.mark.parametrize(
    ("decision", "phase", "stops"),
    [
        (WRITE, Phase.IMAGE, True),
        (WRITE, Phase.BIOS, True),
        (READ, Phase.BIOS, False),
        (WAIT, Phase.IMAGE, False),
        (WAIT, Phase.SOFTWARE, True),
        (Done(), Phase.IMAGE, False),
        (OVER, Phase.IMAGE, False),
    ],
)
def test_it_stops_before_a_write_or_in_a_wait_but_not_while_a_ramdisk_may_write(
    decision: Decision, phase: Phase, stops: bool
) -> None:
    heeded = heed_cancel(decision, phase, "ann: wrong rack", has_acted=False)
    assert (isinstance(heeded, Failed) and heeded.code == CANCELLED) is stops
    assert heed_cancel(decision, phase, None, has_acted=True) is decision


def test_what_the_phase_began_is_cleaned_up_and_what_it_did_not_begin_is_left_alone() -> None:
    begun = heed_cancel(WRITE, Phase.IMAGE, "ann", has_acted=True)
    untouched = heed_cancel(WRITE, Phase.IMAGE, "ann", has_acted=False)
    assert isinstance(begun, Failed)
    assert isinstance(untouched, Failed)
    assert (begun.cleanup, untouched.cleanup) == ("power_off", None)
