"""Carrying out commands of ``@redfish`` over one blocking client: lines of text out, errors raised."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast, get_args

from metalwright.connectors.commands import Command
from metalwright.connectors.media_url import check_image
from metalwright.connectors.proving import is_barred, prove_refused, prove_staged, set_clock
from metalwright.connectors.read_back import Reader
from metalwright.connectors.secrets import MEDIA_URL, STAGED_PASSWORD, BmcSecrets, SecretValues
from metalwright.errors import (
    BmcAnswerError,
    BmcAuthError,
    BmcNoAnswerError,
    BmcRefusedError,
    DeployError,
    MetalwrightError,
    SecretError,
    UsageError,
)
from metalwright.model.boot import BootMethod
from metalwright.redfish import messages_in
from metalwright.redfish.blocking_client import BlockingClient
from metalwright.redfish.dialogue import write_in_form
from metalwright.redfish.links import Topology, find, locate
from metalwright.redfish.wire import Request, Response

TASK_S = 60.0
"""How long a command waits for the task that it started; what takes longer is polled outside pyinfra."""

STAGED_REFERENCE = f"{{secret:{STAGED_PASSWORD}}}"


DeskVerb = Callable[[BlockingClient, Topology, Command], list[str]]


OrderMedium = Callable[[BootMethod], str]
"""Makes the node's boot medium for a way to start it and returns its URL."""


class Execution:
    """One connection's commands. ``run`` returns what the command prints; secrets are replaced in it."""

    def __init__(
        self,
        client: BlockingClient,
        topology: Topology,
        secrets: BmcSecrets,
        values: SecretValues,
        order_medium: OrderMedium,
        say: Callable[[str], None],
        firmware: DeskVerb,
        certificates: DeskVerb,
        default_users: tuple[str, ...] = (),
    ) -> None:
        self._client = client
        self._topology = topology
        self._secrets = secrets
        self._values = values
        self._order_medium = order_medium
        self._say = say
        self._firmware = firmware
        self._certificates = certificates
        self._reader = Reader(client, values)
        self._default_users = default_users

    def run(self, command: Command, hidden: tuple[str, ...] = ()) -> list[str]:
        """Carry out ``command``; ``hidden`` are texts in it that must not be shown. Raises MetalwrightError."""
        match command.verb:
            case "GET":
                lines = [json.dumps(self._read(command.arguments))]
            case "EXPECT":
                lines = self._expect(command)
            case "ABSENT":
                lines = self._absent(command)
            case "LOGIN":
                lines = self._login(command)
            case "REFUSED":
                lines = prove_refused(self._client, self._secrets, command.target, again="again" in command.options)
            case "SECRET":
                lines = self._secret(command)
            case "CLOCK":
                lines = set_clock(self._client, self._topology, float(command.options.get("within") or 0))
            case "FIRMWARE":
                lines = self._firmware(self._client, self._topology, command)
            case "CERTIFICATE":
                lines = self._certificates(self._client, self._topology, command)
            case "MEDIUM":
                self._values.keep(MEDIA_URL, self._order_medium(_method(command)))
                lines = ["the boot medium is ready"]
            case "REFUSE":
                raise DeployError(command.target)
            case _:
                lines = self._write(command, hidden)
        return [self._values.hide(line) for line in lines]

    def _read(self, expressions: tuple[str, ...]) -> Any:
        """Each resource is read once, however many expressions lead over it."""
        self._client.state.snapshot = {}
        try:
            values = [self._read_one(expression) for expression in expressions]
        finally:
            self._client.state.snapshot = None
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
        if command.proof is not None:
            return self._reader.write(lambda: self._send(command, hidden), self._uri, command.proof)
        try:
            return self._send(command, hidden)[0]
        except BmcNoAnswerError as error:
            if "unproven" not in command.options:
                raise
            return [f"{error.what}; the read-back tells"]
        except BmcRefusedError as error:
            if STAGED_REFERENCE in json.dumps(command.body) and 400 <= (error.status or 0) < 500:
                self._secrets.unstage()
            if "optional" not in command.options:
                raise
            return self._not_offered(error)

    def _send(self, command: Command, hidden: tuple[str, ...]) -> tuple[list[str], str]:
        """Return what the BMC said and the URI that took the write, which is not always the one that was asked."""
        body = None if command.body is None else self._values.fill(command.body)
        check_image(body, command.target)
        used = self._values.texts if body != command.body else ()
        request = Request(command.verb, self._uri(command.target), body, secrets=(*hidden, *used))
        taken, response = self._send_or_patch(request, command.options.get("or-patch"))
        task = self._client.finish_task(response, timeout_s=TASK_S)
        lines = [f"HTTP {response.status}"]
        if task is not None:
            lines.append(f"task {task.uri}: {task.state}")
        said = self._reader.told[taken.path] = messages_in(response.json())
        return lines + [f"{message.about or message.id}: {message.text}" for message in said], taken.path

    def _send_or_patch(self, request: Request, slot: str | None) -> tuple[Request, Response]:
        """Write; where a collection takes no members, write the member that the command names instead."""
        try:
            return self._client.run(write_in_form(self._client.state, request))
        except BmcRefusedError as error:
            if slot is None or error.status not in (405, 501):
                raise
            other = replace(request, method="PATCH", path=self._uri(slot))
            return self._client.run(write_in_form(self._client.state, other))

    def _not_offered(self, error: MetalwrightError) -> list[str]:
        """Say what an optional change met; it does not fail."""
        text = self._values.hide(f"not offered by this BMC: {error.where}: {error.what} ({error.found})")
        self._say(text)
        return [text]

    def _expect(self, command: Command) -> list[str]:
        uri = self._uri(command.target)
        if command.proof is not None:
            try:
                self._reader.expect([uri], command.proof)
            except MetalwrightError as error:
                if command.proof.is_required:
                    raise
                return self._not_offered(error)
        return [f"{uri} shows the wanted values"]

    def _absent(self, command: Command) -> list[str]:
        uri = self._uri(command.target)
        self._reader.expect_gone(uri, float(command.options.get("within") or 0))
        return [f"{uri} is gone"]

    def _login(self, command: Command) -> list[str]:
        if command.target != STAGED_PASSWORD:
            raise SecretError("LOGIN takes staged-password", where="@redfish", found=command.target)
        restore = command.options.get("restore")
        return prove_staged(self._client, self._secrets, self._uri(restore) if restore else None)

    def _secret(self, command: Command) -> list[str]:
        match command.target:
            case "state":
                return [json.dumps(self._login_state())]
            case "stage":
                service = self._password_rules()
                self._secrets.stage(
                    _length(service, "MinPasswordLength"),
                    _length(service, "MaxPasswordLength"),
                    user=command.options.get("user"),
                    is_shared="shared" in command.options,
                )
                return ["a new password is staged"]
            case "promote":
                self._secrets.promote()
                return ["the staged password is in force"]
            case "share":
                self._secrets.share()
                return ["the login stays that of a shared account"]
        raise SecretError("SECRET takes state, stage, promote or share", where="@redfish", found=command.target)

    def _login_state(self) -> dict[str, Any]:
        """What the secrets know, and what only the BMC can tell: whether the password must be changed first."""
        known = self._secrets.state()
        if known["origin"] == "factory":
            self._password_rules()  # a BMC that insists says so at the first read
        must_change = self._client.state.password_change_uri is not None
        users = [user for user in self._default_users if is_barred(self._client, self._secrets, user)]
        return {**known, "must_change": must_change, "barred": users}

    def _password_rules(self) -> dict[str, Any]:
        """Return the account service; nothing where it is not shown before the password was changed."""
        try:
            return self._read_one("@root/AccountService?") or {}
        except BmcAuthError:
            return {}


def _length(service: dict[str, Any], name: str) -> int | None:
    value = service.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _method(command: Command) -> BootMethod:
    """How the medium is to be started. Raises UsageError."""
    method, known = command.options.get("by", "virtual-media"), get_args(BootMethod)
    if method not in known:
        raise UsageError("no such way to start a medium", where="@redfish", expected=", ".join(known), found=method)
    return cast(BootMethod, method)
