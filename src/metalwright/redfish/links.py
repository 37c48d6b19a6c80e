"""Finding resources by their links, never by a fixed path.

An expression starts with a noun and goes on along properties: ``@system/Bios``, ``@manager/NetworkProtocol``,
``@root/AccountService/Accounts/*``, ``@system/Storage/*/Drives/*``. ``*`` stands for every member of a collection or of
a list of links. A plain ``/redfish/…`` URI is itself.

Nouns: ``root``; ``system``, the host that this BMC manages (the declared one, where several are listed); ``manager``,
its BMC; ``chassis``; ``system-settings`` and ``bios-settings``, where changes for the next boot are written; ``bios-
jobs``, the queue that BIOS changes go through, where there is one; ``media``, the virtual media of the system or else
of the manager; ``bios-registry``, the attribute registry of this BIOS; ``own-account``, the account that this client
logs in with; ``accounts``, all of them with their slots; ``lockdown`` and ``syslog``, wherever the maker has them;
``reset-info``, what the host's reset action allows, where the action does not say it itself; ``event-logs``, those
of system, manager and chassis; ``behaviour``, what is known about this kind of BMC.
"""

from __future__ import annotations

from metalwright.errors import BmcAnswerError, BmcRefusedError, BmcUnreachableError
from metalwright.redfish.dialogue import read
from metalwright.redfish.nouns import NOUNS
from metalwright.redfish.state import BmcState
from metalwright.redfish.walking import Declared, Found, Topology, follow, members_of
from metalwright.redfish.wire import Exchange

__all__ = ["NOUNS", "Declared", "Found", "Topology", "find", "locate"]


def find(state: BmcState, topology: Topology, expression: str) -> Exchange[Found]:
    """Return what ``expression`` leads to.

    Raises BmcAnswerError when the BMC does not offer it, naming the resource where the way ends.
    """
    if not expression.startswith("@"):
        value = yield from read(state, expression)
        return Found(expression, value)
    noun, *segments = expression[1:].split("/")
    start = NOUNS.get(noun)
    if start is None:
        raise BmcAnswerError(
            "unknown start of an expression",
            where=expression,
            expected=", ".join(f"@{name}" for name in NOUNS),
            found=f"@{noun}",
            hint="correct the expression; the reference of the pyinfra side lists what there is",
        )
    begin = yield from start(state, topology)
    points, problems = [begin], list[str]()
    is_many = "*" in segments
    for segment in segments:
        points = yield from _step(state, points, segment, problems, is_many)
    if is_many:
        return Found(
            points[0].uri if points else begin.uri, {"Members": [p.value for p in points], "problems": problems}
        )
    return points[0]


def locate(state: BmcState, topology: Topology, expression: str) -> Exchange[str]:
    """Return the URI of what ``expression`` leads to; a plain URI is returned as it is, without asking the BMC."""
    if not expression.startswith("@"):
        return expression
    found = yield from find(state, topology, expression)
    return found.uri


def _step(
    state: BmcState, points: list[Found], segment: str, problems: list[str], is_many: bool
) -> Exchange[list[Found]]:
    """Go one segment on from every point; a point that does not lead on is a problem, or the end of a single way."""
    reached: list[Found] = []
    for point in points:
        try:
            if segment == "*":
                reached += yield from members_of(state, point, problems)
            else:
                reached.append((yield from follow(state, point, segment)))
        except (BmcAnswerError, BmcRefusedError, BmcUnreachableError) as error:
            if not is_many or len(points) == 1:
                raise
            problems.append(f"{error.where}: {error.brief}")
    return reached
