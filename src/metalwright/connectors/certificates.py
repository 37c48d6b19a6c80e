"""The verb CERTIFICATE: the BMC's key, signed; announced before it is installed, and pinned once the BMC shows it."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes

from metalwright.connectors.commands import Command
from metalwright.errors import (
    BmcAnswerError,
    BmcCertificateError,
    BmcNoAnswerError,
    BmcRefusedError,
    DeployError,
    MetalwrightError,
    ReadBackError,
    RedfishError,
    UsageError,
)
from metalwright.model.site import BmcCertificate
from metalwright.redfish.blocking_client import BlockingClient
from metalwright.redfish.certificates import CertificateOffer, find_offer, generate_request, replace_request
from metalwright.redfish.failures import ODD_ANSWER
from metalwright.redfish.links import Topology
from metalwright.redfish.pinning import peek
from metalwright.redfish.tasks import Task
from metalwright.secrets.authority import (
    Authority,
    Wanted,
    authority_of,
    check_signed,
    make_request,
    names_in,
    objections_to,
    pem_of,
)
from metalwright.workspace import Workspace

POLL_S = 1.0
TASK_S = 60.0
WHY = "a renewed certificate is about to be installed"


@dataclass(frozen=True, slots=True)
class CertificateDesk:
    """Renews the HTTPS certificate of the BMC of one node."""

    workspace: Workspace
    node: str

    def run(self, client: BlockingClient, topology: Topology, command: Command) -> list[str]:
        """Carry out one CERTIFICATE command. Raises MetalwrightError."""
        match command.target:
            case "state":
                return [json.dumps(self._state(client, topology))]
            case "renew":
                return self._renew(client, topology, float(command.options.get("within") or 0))
        raise UsageError("CERTIFICATE takes state or renew", where="@redfish", found=command.target)

    def _state(self, client: BlockingClient, topology: Topology) -> dict[str, Any]:
        """What is shown, what is wanted, and why the one is not the other."""
        offer = client.run(find_offer(client.state, topology))
        authority, wanted = self._authority(), self._wanted(client)
        shown = shown_by(client)
        objections = objections_to(shown, wanted, datetime.now(UTC))
        objection = authority.objection(shown)
        return {
            "offers": offer.way if offer is not None else None,
            "shown": {
                "subject": _common_name(shown.subject),
                "issuer": _common_name(shown.issuer),
                "names": list(names_in(shown)),
                "expires": shown.not_valid_after_utc.isoformat(),
                "fingerprint": _fingerprint(shown),
            },
            "wanted": {
                "subject": wanted.common_name,
                "issuer": authority.title(),
                "names": list(wanted.names),
                "valid_days": wanted.valid_days,
            },
            "why": [*([objection] if objection else []), *objections],
        }

    def _renew(self, client: BlockingClient, topology: Topology, within_s: float) -> list[str]:
        offer = client.run(find_offer(client.state, topology))
        if offer is None:
            raise DeployError("this BMC offers no way to replace its certificate", where=self.node)
        authority, wanted = self._authority(), self._wanted(client)
        key, request = self._request(client, offer, wanted)
        signed = authority.sign(request, wanted)
        check_signed(signed[0], request, wanted, authority.title())
        fingerprint = _fingerprint(signed[0])
        self.workspace.journal.pins.announce(self.node, fingerprint, WHY)
        said = self._install(client, offer, signed, key)
        seconds = self._prove(client, fingerprint, within_s)
        until = f"{signed[0].not_valid_after_utc:%Y-%m-%d}"
        return [*said, f"the BMC shows the new certificate (until {until}) after {seconds:.0f} s; it is pinned"]

    @staticmethod
    def _request(
        client: BlockingClient, offer: CertificateOffer, wanted: Wanted
    ) -> tuple[str | None, x509.CertificateSigningRequest]:
        """The BMC's signing request; where it makes none, a key made here, kept nowhere, and its request."""
        if offer.generate_uri is None:
            return make_request(wanted)
        subject = wanted.subject
        words = {
            "CommonName": wanted.common_name,
            "Country": subject.country,
            "State": subject.state,
            "City": subject.city,
            "Organization": subject.organization,
            "OrganizationalUnit": subject.unit,
        }
        text = client.run(generate_request(client.state, offer, words, wanted.names))
        try:
            request = x509.load_pem_x509_csr(text.encode())
            is_signed = request.is_signature_valid
        except ValueError:
            is_signed = False
        if not is_signed:
            raise BmcAnswerError(
                "the BMC's signing request cannot be used",
                where=client.state.where("POST", offer.generate_uri),
                expected="a request that its own key signed, PEM",
                hint=ODD_ANSWER,
            )
        return None, request

    def _install(
        self, client: BlockingClient, offer: CertificateOffer, signed: list[x509.Certificate], key: str | None
    ) -> list[str]:
        """Send it; only a refusal of a BMC that goes on with the old one takes the announcement back."""
        before = client.fingerprint
        try:
            response = client.write(replace_request(offer, pem_of(*signed), key=key, is_chain=len(signed) > 1))
        except BmcNoAnswerError as error:
            return [f"{error.what}; the certificate that it shows tells"]
        except BmcRefusedError as error:
            if 400 <= (error.status or 0) < 500 and _fingerprint(shown_by(client)) == before:
                self.workspace.journal.pins.withdraw(self.node, _fingerprint(signed[0]), error.what)
            raise
        task: Task | None = None
        try:
            task = client.finish_task(response, timeout_s=TASK_S)
        except (BmcCertificateError, BmcNoAnswerError, BmcAnswerError) as error:
            return [f"HTTP {response.status}", f"{error.what}; the certificate that it shows tells"]
        return [f"HTTP {response.status}", *([f"task {task.uri}: {task.state}"] if task is not None else [])]

    def _prove(self, client: BlockingClient, fingerprint: str, within_s: float) -> float:
        """Wait for exactly this certificate, then for the service behind it; seconds. Its web server may restart."""
        begun = time.monotonic()
        is_shown, last = False, ""
        while True:
            try:
                if not is_shown and _fingerprint(shown_by(client)) == fingerprint:
                    self.workspace.journal.pins.prove(self.node, fingerprint)
                    client.repin(fingerprint)
                    is_shown = True
                if is_shown:
                    client.root()
                    return time.monotonic() - begun
                last = "another certificate"
            except RedfishError as error:
                last = error.what
            if time.monotonic() - begun >= within_s:
                raise self._unproven(client, fingerprint, last, within_s, is_shown=is_shown)
            time.sleep(POLL_S)

    def _unproven(
        self, client: BlockingClient, fingerprint: str, last: str, within_s: float, *, is_shown: bool
    ) -> MetalwrightError:
        where = f"{self.node} at {client.state.base_url}"
        if is_shown:
            return ReadBackError(
                f"the BMC shows its new certificate, but does not answer within {within_s:g} s",
                where=where,
                found=last,
                hint="run it again when its web server has restarted; the new certificate is pinned",
            )
        return ReadBackError(
            f"the BMC took the new certificate and does not show it within {within_s:g} s; the earlier pin stands",
            where=where,
            expected=f"certificate sha256 {fingerprint}",
            found=last,
            hint="some BMCs show it only after a restart of their own; until they do, the earlier and the announced"
            " certificate are both accepted",
        )

    def _authority(self) -> Authority:
        paths = self.workspace.paths
        return authority_of(self.workspace.repository.site, self.workspace.bmc_credentials.store, paths.state)

    def _wanted(self, client: BlockingClient) -> Wanted:
        """Its name, and the address that the lock file gives it, else the one where it answers."""
        repository = self.workspace.repository
        declared = repository.site.hardening.certificate or BmcCertificate(ca="own")
        network = repository.network_of_purpose("oob-management")
        allocated = repository.addresses.of_node(self.node).get(network.name) if network else None
        address = allocated or client.contact.origin.host
        names = (f"{self.node}-bmc.{repository.site.domain}", address)
        return Wanted(names, declared.subject, declared.valid_days, declared.renew_days)


def shown_by(client: BlockingClient) -> x509.Certificate:
    """Return the certificate that the BMC shows now, over a connection of its own. Raises RedfishError."""
    if not client.state.base_url.startswith("https:"):
        raise BmcAnswerError(
            "over http there is no certificate", where=client.state.base_url, hint="give the BMC as https://"
        )
    der = client.run(peek(client.state)).certificate
    try:
        return x509.load_der_x509_certificate(der)
    except ValueError as error:
        raise BmcAnswerError(
            "the BMC's certificate cannot be read", where=client.state.base_url, found=str(error), hint=ODD_ANSWER
        ) from None


def _fingerprint(certificate: x509.Certificate) -> str:
    return certificate.fingerprint(hashes.SHA256()).hex()


def _common_name(name: x509.Name) -> str:
    found = name.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return str(found[0].value) if found else name.rfc4514_string()
