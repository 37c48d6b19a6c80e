"""Carrying out commands of ``@redfish`` over one blocking client: lines of text out, errors raised."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from metalwright.connectors.commands import Command
from metalwright.connectors.secrets import MEDIA_URL, STAGED_PASSWORD, BmcSecrets, SecretValues
from metalwright.errors import (
    BmcAnswerError,
    BmcAuthError,
    BmcNoAnswerError,
    BmcRefusedError,
    DeployError,
    MetalwrightError,
    ReadBackError,
    RedfishError,
    SecretError,
)
from metalwright.redfish import messages_in
from metalwright.redfish.blocking_client import BlockingClient
from metalwright.redfish.dialogue import shows
from metalwright.redfish.links import Topology, find, locate
from metalwright.redfish.wire import Request

TASK_S = 60.0
"""How long a command waits for the task that it started; what takes longer is polled outside pyinfra."""

POLL_S = 1.0


class Execution:
    """One connection's commands. ``run`` returns what the command prints; secrets are replaced in it."""

    def __init__(
        self,
        client: BlockingClient,
        topology: Topology,
        secrets: BmcSecrets,
        values: SecretValues,
        order_medium: Callable[[], str],
    ) -> None:
        self._client = client
        self._topology = topology
        self._secrets = secrets
        self._values = values
        self._order_medium = order_medium

    def run(self, command: Command, hidden: tuple[str, ...] = ()) -> list[str]:
        """Carry out ``command``; ``hidden`` are texts in it that must not be shown. Raises MetalwrightError."""
        match command.verb:
            case "GET":
                lines = [json.dumps(self._read(command.arguments))]
            case "EXPECT":
                lines = self._expect(command)
            case "LOGIN":
                lines = self._login(command)
            case "SECRET":
                lines = self._secret(command.target)
            case "MEDIUM":
                self._values.keep(MEDIA_URL, self._order_medium())
                lines = ["the boot medium is ready"]
            case "REFUSE":
                raise DeployError(command.target)
            case _:
                lines = self._write(command, hidden)
        return [self._values.hide(line) for line in lines]

    def _read(self, expressions: tuple[str, ...]) -> Any:
        values = [self._read_one(expression) for expression in expressions]
        return values[0] if len(values) == 1 else values

    def _read_one(self, expression: str) -> Any:
        is_optional = expression.endswith("?")
        try:
            return self._client.run(find(self._client.state, self._topology, expression.removesuffix("?"))).value
        except BmcAnswerError:
            if not is_optional:
                raise
        except BmcRefusedError as error:
            if not is_optional or error.status not in (404, 405, 501):
                raise
        return None

    def _uri(self, target: str) -> str:
        uri: str = self._client.run(locate(self._client.state, self._topology, target))
        return uri

    def _write(self, command: Command, hidden: tuple[str, ...]) -> list[str]:
        body = None if command.body is None else self._values.fill(command.body)
        request = Request(
            command.verb, self._uri(command.target), body, secrets=(*hidden, *self._used_secrets(command.body, body))
        )
        try:
            response = self._client.write(request)
        except BmcNoAnswerError as error:
            if "unproven" not in command.options:
                raise
            return [f"{error.what}; the read-back tells"]
        task = self._client.finish_task(response, timeout_s=TASK_S)
        lines = [f"HTTP {response.status}"]
        if task is not None:
            lines.append(f"task {task.uri}: {task.state}")
        lines += [f"{message.about or message.id}: {message.text}" for message in messages_in(response.json())]
        return lines

    def _used_secrets(self, before: Any, after: Any) -> tuple[str, ...]:
        return self._values.texts if before != after else ()

    def _expect(self, command: Command) -> list[str]:
        uri, wanted = self._uri(command.target), self._values.fill(command.body)
        give_up_at = time.monotonic() + float(command.options.get("within") or 0)
        while True:
            try:
                current: Any = self._client.get(uri)
                if shows(current, wanted):
                    return [f"{uri} shows the wanted values"]
                failure: MetalwrightError = self._read_back_error(uri, wanted, current)
            except RedfishError as error:
                failure = error
            if time.monotonic() >= give_up_at:
                raise failure
            time.sleep(POLL_S)

    def _read_back_error(self, uri: str, wanted: Any, current: Any) -> ReadBackError:
        differences = list(_differences(wanted, current))
        return ReadBackError(
            "the BMC accepted the change but does not show it",
            where=self._client.state.where("GET", uri),
            expected=self._values.hide("; ".join(f"{path} = {want!r}" for path, want, _ in differences)),
            found=self._values.hide("; ".join(f"{path} = {have!r}" for path, _, have in differences)),
        )

    def _login(self, command: Command) -> list[str]:
        """Log in once with the staged credential, in a session of its own; then go on with that credential."""
        staged = self._secrets.staged()
        if staged is None or command.target != STAGED_PASSWORD:
            raise SecretError("no such password is staged for this BMC", where=command.target)
        with BlockingClient(replace(self._client.contact, credentials=staged)) as probe:
            probe.login()
        self._client.use(staged)
        return [f"user {staged.username} can log in"]

    def _secret(self, what: str) -> list[str]:
        match what:
            case "state":
                return [json.dumps(self._secrets.state())]
            case "stage":
                service = self._password_rules()
                self._secrets.stage(_length(service, "MinPasswordLength"), _length(service, "MaxPasswordLength"))
                return ["a new password is staged"]
            case "promote":
                self._secrets.promote()
                return ["the staged password is in force"]
        raise SecretError("SECRET takes state, stage or promote", where="@redfish", found=what)

    def _password_rules(self) -> dict[str, Any]:
        """Return the account service; nothing where it is not shown before the password was changed."""
        try:
            return self._read_one("@root/AccountService?") or {}
        except BmcAuthError:
            return {}


def _length(service: dict[str, Any], name: str) -> int | None:
    value = service.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _differences(wanted: Any, current: Any, path: str = "") -> list[tuple[str, Any, Any]]:
    """Return (path, wanted, found) of every value that is not shown."""
    if isinstance(wanted, dict):
        found: list[tuple[str, Any, Any]] = []
        for key, value in wanted.items():
            have = current.get(key) if isinstance(current, dict) else None
            found += _differences(value, have, f"{path}/{key}" if path else str(key))
        return found
    return [] if shows(current, wanted) else [(path, wanted, current)]
