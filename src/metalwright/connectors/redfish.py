"""``@redfish``: pyinfra's connector to BMCs. A "shell command" is a Redfish request.

``@redfish/ADDRESS`` is any BMC (credentials from ``METALWRIGHT_BMC_USER`` and ``METALWRIGHT_BMC_PASSWORD``);
``@redfish/NODE`` is the BMC of a node of the site, with the site's pins, credentials, locks and grants. The commands
are those of :mod:`metalwright.connectors.commands`.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import IOBase
from typing import TYPE_CHECKING, Any

from pyinfra import logger
from pyinfra.api.command import StringCommand
from pyinfra.api.exceptions import ConnectError
from pyinfra.api.hiddenvalue import HiddenValue
from pyinfra.api.output import echo
from pyinfra.connectors.base import BaseConnector, ConnectorData, DataMeta
from pyinfra.connectors.util import CommandOutput, OutputLine

from metalwright.connectors.bmcs import bmc_data, groups_of, racked_as
from metalwright.connectors.commands import parse
from metalwright.connectors.ending import end_orderly
from metalwright.connectors.evidence import collect, is_disruptive
from metalwright.connectors.execution import Execution
from metalwright.connectors.secrets import SecretValues
from metalwright.connectors.services import Endpoint, ad_hoc_endpoint, node_endpoint
from metalwright.errors import BmcAuthError, BmcUnreachableError, MetalwrightError
from metalwright.redfish.blocking_client import BlockingClient
from metalwright.redfish.client import Contact
from metalwright.redfish.links import Topology

if TYPE_CHECKING:
    from pyinfra.api.host import Host
    from pyinfra.api.state import State


class RedfishConnectorData(ConnectorData, total=False):
    """What host data may tell the connector."""

    redfish_node: str | None
    redfish_address: str | None


class RedfishConnector(BaseConnector):
    """Runs Redfish requests on one BMC over one session, which is deleted at the end."""

    handles_execution = True
    data_cls = RedfishConnectorData
    data_meta = {  # noqa: RUF012 - pyinfra's own declaration has no ClassVar
        "redfish_node": DataMeta("Name of the node in the site's inventory"),
        "redfish_address": DataMeta("Address of a BMC that is in no inventory: HOST[:PORT] or https://HOST[:PORT]"),
    }

    def __init__(self, state: State, host: Host) -> None:
        super().__init__(state, host)
        self._client: BlockingClient | None = None
        self._execution: Execution | None = None
        self._endpoint: Endpoint | None = None
        self._topology = Topology()
        self._has_evidence = False

    @staticmethod
    def make_names_data(name: str | None = None) -> Iterator[tuple[str, dict[str, Any], list[str]]]:
        """Yield (host name, host data, groups): a node of the site by its name, anything else as an address."""
        if not name:
            raise ConnectError("@redfish needs an address or a node: @redfish/10.20.0.11 or @redfish/gpu-a01-u07")
        named = racked_as(name)
        if named is None:
            yield f"@redfish/{name}", {"redfish_address": name}, ["@redfish"]
            return
        repository, item = named
        data = {**bmc_data(repository, item), "redfish_node": item.name}
        yield item.name, data, ["@redfish", *groups_of(repository, item)]

    def connect(self) -> None:
        """Find the BMC, check its certificate, log in. Raises ConnectError, with the reason, for everything."""
        end_orderly()
        try:
            node = self.data["redfish_node"]
            endpoint = node_endpoint(node) if node else ad_hoc_endpoint(self.data["redfish_address"] or "")
            self._topology = Topology(endpoint.declared)
            self._client = self._open(endpoint)
            self._log_in(endpoint, self._client)
        except MetalwrightError as error:
            self.disconnect()
            raise ConnectError(str(error)) from error
        except Exception as error:
            self.disconnect()
            raise ConnectError(f"unexpected {type(error).__name__} while connecting") from error
        self._endpoint = endpoint
        values = SecretValues(endpoint.secrets)
        self._execution = Execution(
            self._client,
            self._topology,
            endpoint.secrets,
            values,
            endpoint.order_medium,
            say=lambda text: logger.warning("%s%s", self.host.print_prefix, text),
            firmware=endpoint.firmware,
            certificates=endpoint.certificates,
            default_users=endpoint.default_users,
        )

    def _open(self, endpoint: Endpoint) -> BlockingClient:
        """Return a client at the first address where a BMC answers."""
        failure: BmcUnreachableError | None = None
        for address in endpoint.addresses:
            client = BlockingClient(self._contact(endpoint, address))
            try:
                client.open()
                client.root()
            except BmcUnreachableError as error:
                failure = failure or error
                client.close()
                continue
            except BaseException:
                client.close()
                raise
            if client.is_first_use:
                logger.warning(
                    "%sfirst contact: certificate sha256 %s is trusted from now on",
                    self.host.print_prefix,
                    client.fingerprint,
                )
            return client
        raise failure or BmcUnreachableError(
            "this BMC has no address",
            where=endpoint.key,
            hint="give the node bmc_address in its rack file, or run `metalwright discover`",
        )

    @staticmethod
    def _contact(endpoint: Endpoint, address: str) -> Contact:
        return Contact(
            address,
            key=endpoint.key,
            pins=endpoint.pins,
            latch=endpoint.latch,
            limits=endpoint.limits,
            allow_http=endpoint.allow_http,
            forms=endpoint.forms,
        )

    @staticmethod
    def _log_in(endpoint: Endpoint, client: BlockingClient) -> None:
        """Try each candidate once, best first; without any, go on anonymously."""
        refusal: BmcAuthError | None = None
        candidates = endpoint.secrets.candidates()
        client.state.other_secrets = frozenset(item.password for item in candidates)
        for credentials in candidates:
            client.state.credentials = credentials
            try:
                client.login()
            except BmcAuthError as error:
                refusal = error
                continue
            endpoint.secrets.worked(credentials)
            return
        if refusal is not None:
            raise refusal

    def disconnect(self) -> None:
        """Delete the session and let the node's lock go."""
        client, self._client, self._execution = self._client, None, None
        if client is not None and self._endpoint is not None:
            try:
                self._endpoint.guard.before_disconnect(client)
            except MetalwrightError as error:
                logger.error("%sthe lockdown could not be put back: %s", self.host.print_prefix, error)
        if client is not None:
            client.close()
        if self._endpoint is not None:
            self._endpoint.guard.release()
            self._endpoint = None

    def run_shell_command(
        self,
        command: str | StringCommand,
        print_output: bool = False,
        print_input: bool = False,
        **arguments: Any,
    ) -> tuple[bool, CommandOutput]:
        """Carry out one command of ``@redfish``; never raises."""
        del arguments
        text, shown, hidden = _texts(command)
        if print_input:
            echo(f"{self.host.print_prefix}>>> {shown}", err=True)
        try:
            is_success, lines = True, self._run(text, hidden)
        except MetalwrightError as error:
            is_success, lines = False, str(error).splitlines()
        except Exception as error:  # pyinfra would stop every host
            logger.debug("unexpected error", exc_info=True)
            is_success, lines = False, [f"unexpected {type(error).__name__} in the @redfish connector"]
        if print_output:
            for line in lines:
                echo(f"{self.host.print_prefix}{line}", err=True)
        stream = "stdout" if is_success else "stderr"
        return is_success, CommandOutput([OutputLine(stream, line) for line in lines])

    def _run(self, text: str, hidden: tuple[str, ...]) -> list[str]:
        if self._client is None or self._execution is None or self._endpoint is None:
            raise BmcUnreachableError(
                "not connected", where=self.host.name, hint="see the error of the connection above"
            )
        command = parse(text)
        if command.is_write:
            self._endpoint.guard.before_write(self._client, self._topology, command)
        if not self._has_evidence and self._endpoint.keep_evidence is not None and is_disruptive(command):
            self._has_evidence = True
            collect(self._client, self._topology, self._endpoint.keep_evidence, command)
        return self._execution.run(command, hidden)

    def put_file(
        self,
        filename_or_io: str | IOBase,
        remote_filename: str,
        remote_temp_filename: str | None = None,
        print_output: bool = False,
        print_input: bool = False,
        **arguments: Any,
    ) -> bool:
        """A BMC takes no files."""
        del filename_or_io, remote_filename, remote_temp_filename, print_output, print_input, arguments
        logger.error("%sa BMC takes no files", self.host.print_prefix)
        return False

    def get_file(
        self,
        remote_filename: str,
        filename_or_io: str | IOBase,
        remote_temp_filename: str | None = None,
        print_output: bool = False,
        print_input: bool = False,
        **arguments: Any,
    ) -> bool:
        """A BMC gives no files."""
        del filename_or_io, remote_filename, remote_temp_filename, print_output, print_input, arguments
        logger.error("%sa BMC gives no files", self.host.print_prefix)
        return False


def _texts(command: str | StringCommand) -> tuple[str, str, tuple[str, ...]]:
    """Return the command as it is, as it may be shown, and the hidden texts in it."""
    if isinstance(command, str):
        return command, command, ()
    return command.get_raw_value(), command.get_masked_value(), tuple(_hidden(command))


def _hidden(command: StringCommand) -> Iterator[str]:
    for bit in command.bits:
        item = getattr(bit, "obj", bit)
        if isinstance(item, HiddenValue):
            yield item.unmask()
        elif isinstance(item, StringCommand):
            yield from _hidden(item)
