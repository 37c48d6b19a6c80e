"""Plays a BMC to a dialogue without any I/O: scripted outcomes in, steps and result out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from metalwright.redfish.state import BmcState, Limits
from metalwright.redfish.wire import Exchange, Outcome, Peek, Response, Send, Sleep, Step

Answer = Callable[[Send], Outcome]


class FakeClock:
    """A clock that moves only by sleeping (and by what a test adds)."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Play:
    """What happened: the requests sent, the seconds slept."""

    clock: FakeClock
    sent: list[Send] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    peer: Outcome = None
    """What a look at the certificate gives."""

    def run(self, exchange: Exchange[Any], answers: Iterable[Outcome] | Answer) -> Any:
        """Drive the exchange with a list of outcomes or a function from Send to outcome."""
        script = answers if callable(answers) else iter(answers)
        outcome: Outcome = None
        while True:
            try:
                step = exchange.send(outcome)
            except StopIteration as stop:
                return stop.value
            self.steps.append(step)
            outcome = None
            if isinstance(step, Send):
                self.sent.append(step)
                outcome = script(step) if callable(script) else next(script)
            elif isinstance(step, Peek):
                outcome = self.peer
            elif isinstance(step, Sleep):
                self.slept.append(step.seconds)
                self.clock.now += step.seconds


def make_state(**changes: Any) -> tuple[BmcState, Play]:
    """A state on a fake clock, with nobody logged in."""
    clock = FakeClock()
    limits = changes.pop("limits", Limits())
    state = BmcState(base_url="https://10.0.0.1:443", key="node-1", clock=clock, limits=limits, **changes)
    return state, Play(clock)


def answer(status: int = 200, body: Any = None, **headers: str) -> Response:
    """A response with a JSON body (``None`` is an empty body); header names with underscores."""
    raw = b"" if body is None else json.dumps(body).encode()
    pairs = [("content-type", "application/json")] if body is not None else []
    return Response(status, tuple(pairs + [(k.replace("_", "-"), v) for k, v in headers.items()]), raw)


def refusal(status: int, message_id: str, *args: str, text: str = "x") -> Response:
    """A refusal with one extended message."""
    info = [{"MessageId": message_id, "MessageArgs": list(args), "Message": text}]
    return answer(status, {"error": {"code": message_id, "message": "x", "@Message.ExtendedInfo": info}})
