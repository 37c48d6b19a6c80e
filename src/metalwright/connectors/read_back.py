"""Writing with proof: a 2xx proves nothing, and a refusal or a lost answer is no failure where the wanted is there."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from metalwright.connectors.commands import Proof
from metalwright.connectors.secrets import SecretValues
from metalwright.errors import (
    BmcAuthError,
    BmcNoAnswerError,
    BmcRefusedError,
    MetalwrightError,
    ReadBackError,
    RedfishError,
)
from metalwright.redfish.blocking_client import BlockingClient
from metalwright.redfish.dialogue import shows
from metalwright.redfish.messages import Message

POLL_S = 1.0
FIRST_POLL_S = 0.1
RETRY_S = 3.0
"""Seconds before a write that a BMC failed to carry out (5xx) is sent again, where it may be sent again at all."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the read-back saw. ``failure`` is None when it saw what was wanted."""

    failure: MetalwrightError | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads back on one connection."""

    client: BlockingClient
    values: SecretValues
    told: dict[str, tuple[Message, ...]] = field(default_factory=dict)
    """URI → what the BMC said when it was written last."""

    def expect(self, uris: Sequence[str], proof: Proof) -> None:
        """Wait until one of ``uris`` shows what is wanted. Raises ReadBackError, or why it could not be read."""
        seen = self._watch(uris, proof, proof.within_s)
        if seen.failure is not None:
            raise seen.failure

    def expect_gone(self, uri: str, within_s: float) -> None:
        """Wait until there is no resource at ``uri`` any more. Raises ReadBackError, or why it could not be told."""
        give_up_at = time.monotonic() + within_s
        while (failure := self._still_there(uri)) is not None:
            if time.monotonic() >= give_up_at:
                raise failure
            time.sleep(POLL_S)

    def _still_there(self, uri: str) -> MetalwrightError | None:
        try:
            self.client.get(uri)
        except BmcRefusedError as error:
            return None if error.status in (404, 410) else error
        except RedfishError as error:
            return error
        where = self.client.state.where("GET", uri)
        return ReadBackError("the BMC accepted the removal but still shows the member", where=where)

    def write(self, send: Callable[[], tuple[list[str], str]], locate: Callable[[str], str], proof: Proof) -> list[str]:
        """Send until the proof shows; returns what happened, in lines.

        ``send`` returns what the BMC said and the URI that took the write. Raises what refused it, or ReadBackError.
        """
        lines: list[str] = []
        seen = Seen(None, 0.0)
        for attempt in range(1, proof.tries + 1):
            uris = [locate(proof.target)]
            refusal: BmcRefusedError | None = None
            try:
                said, uri = send()
                lines += said
                uris += [uri] if uri not in uris and uri.startswith(f"{uris[0].rstrip('/')}/") else []
            except BmcAuthError:
                raise
            except BmcNoAnswerError as error:
                lines.append(f"{error.what}; the read-back tells")
            except BmcRefusedError as error:
                refusal = error
                lines.append(f"{error.what}: {error.found}; the read-back tells whether that matters")
            seen = self._watch(uris, proof, 0.0 if refusal is not None else proof.within_s)
            if seen.failure is None:
                return [*lines, f"{uris[0]} shows the wanted values after {seen.seconds:.1f} s"]
            if refusal is not None and (attempt == proof.tries or (refusal.status or 0) < 500):
                if not proof.is_required:
                    return lines
                refusal.hint = proof.hint or refusal.hint
                raise refusal
            if refusal is not None:
                time.sleep(min(RETRY_S, proof.within_s))
                continue
            lines.append(f"request {attempt} of {proof.tries}: not to be seen after {seen.seconds:.0f} s")
        if not proof.is_required or seen.failure is None:
            return lines
        raise self._without_effect(seen.failure, proof)

    def _watch(self, uris: Sequence[str], proof: Proof, within_s: float) -> Seen:
        begun = time.monotonic()
        delay_s = FIRST_POLL_S
        wanted = self.values.fill(proof.shows)
        while True:
            failure = self._look(uris, wanted, proof)
            elapsed_s = time.monotonic() - begun
            if failure is None or elapsed_s >= within_s:
                return Seen(failure, elapsed_s)
            time.sleep(min(delay_s, max(0.0, within_s - elapsed_s)))
            delay_s = min(POLL_S, 2 * delay_s)

    def _look(self, uris: Sequence[str], wanted: Mapping[str, Any], proof: Proof) -> MetalwrightError | None:
        """Return None when one of the URIs shows what is wanted, else what is wrong with the first."""
        failures: list[MetalwrightError] = []
        for uri in uris:
            try:
                current: Any = self.client.get(uri)
            except RedfishError as error:
                failures.append(error)
                continue
            if shows(current, wanted) and not is_like(current, proof.unlike):
                return None
            failures.append(self._read_back_error(uri, wanted, current, proof))
        return failures[0]

    def _read_back_error(self, uri: str, wanted: Mapping[str, Any], current: Any, proof: Proof) -> ReadBackError:
        differences = list(_differences(wanted, current))
        same = list(_resemblances(proof.unlike, current))
        expected = [f"{path} = {want!r}" for path, want, _ in differences] + [f"{path} changed" for path, _ in same]
        found = [f"{path} = {have!r}" for path, _, have in differences] + [f"{path} = {have!r}" for path, have in same]
        return ReadBackError(
            "the BMC accepted the change but does not show it",
            where=self.client.state.where("GET", uri),
            expected=self.values.hide("; ".join(expected)),
            found=self.values.hide("; ".join(found)),
            hint=proof.hint or self._what_was_told(uri, differences),
        )

    def _what_was_told(self, uri: str, differences: Sequence[tuple[str, Any, Any]]) -> str | None:
        """Return what the BMC said of the properties that it does not show."""
        wrong = {path.split("/")[0] for path, _, _ in differences}
        said = [item for item in self.told.get(uri, ()) if item.about.split("/")[0] in wrong]
        texts = "; ".join(f"{item.about}: {item.id} {item.text}".strip() for item in said)
        return self.values.hide(f"the BMC said when it was written: {texts}") if texts else None

    @staticmethod
    def _without_effect(failure: MetalwrightError, proof: Proof) -> MetalwrightError:
        if not isinstance(failure, ReadBackError):
            return failure
        times = "the request" if proof.tries == 1 else f"the request {proof.tries} times"
        failure.what = f"the BMC accepted {times}, but it had no effect within {proof.within_s:g} s"
        return failure


def is_like(current: Any, unlike: Any) -> bool:
    """Return whether ``current`` shows any value of ``unlike``; a list there means any of its values."""
    return bool(_resemblances(unlike, current))


def _resemblances(unlike: Any, current: Any, path: str = "") -> list[tuple[str, Any]]:
    """Return (path, value) of every value that should not be there."""
    if isinstance(unlike, Mapping):
        found: list[tuple[str, Any]] = []
        for key, value in unlike.items():
            have = current.get(key) if isinstance(current, Mapping) else None
            found += _resemblances(value, have, f"{path}/{key}" if path else str(key))
        return found
    return [(path, current)] if current in (unlike if isinstance(unlike, list) else [unlike]) else []


def _differences(wanted: Any, current: Any, path: str = "") -> list[tuple[str, Any, Any]]:
    """Return (path, wanted, found) of every value that is not shown."""
    if isinstance(wanted, Mapping):
        found: list[tuple[str, Any, Any]] = []
        for key, value in wanted.items():
            have = current.get(key) if isinstance(current, Mapping) else None
            found += _differences(value, have, f"{path}/{key}" if path else str(key))
        return found
    return [] if shows(current, wanted) else [(path, wanted, current)]
