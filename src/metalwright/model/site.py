"""The site: where it is, how its BMCs and boot server are reached, and where its secrets live."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import netaddr
from pydantic import Field, StringConstraints, field_validator, model_validator

from metalwright.model.base import Address, Count, Frozen, Positive, Slug, Text
from metalwright.model.hooks import NodeHooks
from metalwright.model.people import AdminUser, SshSettings
from metalwright.model.purpose import NetworkPurpose

SecretRef = Annotated[str, StringConstraints(pattern=r"^(env|file|command):.+$", strict=True)]
"""``env:NAME``, ``file:PATH`` or ``command:PROGRAM ARGS``; a secret itself is never written in a file of the site."""

MinisignKey = Annotated[str, StringConstraints(pattern=r"^RW[A-Za-z0-9+/]{54}$", strict=True)]
"""A minisign public key: the second line of a ``.pub`` file."""

Port = Annotated[int, Field(ge=1, le=65535, strict=True)]
HostPort = Annotated[str, StringConstraints(pattern=r"^([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\]):[0-9]{1,5}$", strict=True)]
"""``HOST:PORT``, an IPv6 address in brackets."""


class FactoryCredential(Frozen):
    """A login that machines of one maker leave the factory with; tried in the order written, each once a BMC."""

    manufacturer: Text | None = None
    user: Text
    password: SecretRef


class SecretStoreSettings(Frozen):
    """The one writable store for the BMC credentials that metalwright makes.

    ``encrypted-file`` keeps them in ``.metalwright/secrets.enc``; ``key`` opens it (default: a key file beside it
    with mode 0600). ``commands`` calls two programs with the secret on stdin and stdout.
    """

    kind: Literal["encrypted-file", "commands"] = "encrypted-file"
    key: SecretRef | None = None
    get_command: Text | None = None
    put_command: Text | None = None


class RedfishSettings(Frozen):
    """How BMCs are reached; times in seconds.

    ``slow_paths`` gives resources that are known to be slow a longer read timeout than ``read_timeout_s``: a part of
    their path, such as ``/Storage/``, and seconds. Firmware inventories and logs have one already.
    """

    port: Port = 443
    connect_timeout_s: float = Field(default=30.0, gt=0)
    read_timeout_s: float = Field(default=60.0, gt=0)
    bmc_deadline_s: float = Field(default=300.0, gt=0)
    slow_paths: dict[Text, Annotated[float, Field(gt=0)]] = Field(default_factory=dict)
    requests_in_flight: Positive = 4


class BootServerSettings(Frozen):
    """The boot server and how the two sides see it: BMCs fetch media, nodes report and fetch images."""

    listen: Address = "0.0.0.0"  # noqa: S104 - nodes and BMCs must reach it; the site can narrow it
    http_port: Port = 8480
    https_port: Port = 8481
    address_for_bmc: Address
    address_for_node: Address


class NetworkBoot(Frozen):
    """Starting ramdisks over the network without the BMC's word: nothing is authenticated there, so it is opt-in.

    ``pxe`` lets a blueprint's ``boot.method`` name ``pxe``. UEFI HTTP boot needs no leave: its URL goes through the
    node's own BMC. ``purpose`` is the network that nodes boot from; ``reservations`` are the nodes that its DHCP server
    is told of: those with a run in flight, or ``all``.
    """

    pxe: bool = False
    purpose: NetworkPurpose = "host-management"
    reservations: Literal["in-flight", "all"] = "in-flight"


class ImageSettings(Frozen):
    """Which images may be written.

    ``unsigned: refused``: only those that a trusted key vouches for. The site's own key, made at its first
    ``image build``, is trusted; ``trusted_keys`` are those of colleagues and publishers by name: minisign public keys.
    """

    unsigned: Literal["refused", "allowed"] = "refused"
    trusted_keys: dict[Slug, MinisignKey] = Field(default_factory=dict)


class AptSettings(Frozen):
    """Package sources of the nodes: lines of sources.list, or none to keep the image's own."""

    sources: tuple[Text, ...] = ()


HardeningItem = Literal["protocols", "clock", "syslog", "lockout", "default-accounts", "certificate", "lockdown"]


HARDENING_TITLES: Mapping[HardeningItem, str] = {
    "protocols": "BMC protocols",
    "clock": "BMC clock",
    "syslog": "BMC syslog",
    "lockout": "BMC lock-out",
    "default-accounts": "Default BMC accounts",
    "certificate": "BMC certificate",
    "lockdown": "BMC lockdown",
}
"""How each item is called in plans and as an operation of the deploy, in the order of the work."""


class Lockout(Frozen):
    """After how many wrong passwords a BMC locks an account, and for how many seconds."""

    threshold: Positive
    duration_s: Positive | None = None


class CertificateSubject(Frozen):
    """What certificates of BMCs say beside the name; the standard demands every part of a signing request."""

    country: Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}$", strict=True)] = "XX"
    state: Text = "unknown"
    city: Text = "unknown"
    organization: Text = "metalwright"
    unit: Text = "BMC"


class BmcCertificate(Frozen):
    """The HTTPS certificate of every BMC; times in days.

    ``ca: own`` is an authority that metalwright makes and keeps in the secret store; ``command:PROGRAM ARGS`` gets a
    signing request on stdin and prints the certificate, both PEM. A certificate is renewed when less than
    ``renew_days`` of its ``valid_days`` are left. What a program signs has the validity that the program gives.
    """

    ca: Annotated[str, StringConstraints(pattern=r"^(own|command:.+)$", strict=True)]
    valid_days: Annotated[int, Field(ge=2, le=1825, strict=True)] = 397
    renew_days: Annotated[int, Field(ge=1, le=365, strict=True)] = 30
    subject: CertificateSubject = CertificateSubject()

    @model_validator(mode="after")
    def _is_renewed_before_it_ends(self) -> BmcCertificate:
        if self.renew_days >= self.valid_days:
            raise ValueError(f"renew_days {self.renew_days} is not less than valid_days {self.valid_days}")
        return self


class Hardening(Frozen):
    """What every BMC is brought to. What one does not offer is said, and refused only where ``required`` names it.

    ``protocols`` are on (true) or off (false). ``default_accounts`` are those of ``factory_credentials``. Without
    ``certificate`` a BMC keeps the one that it has. Without
    ``lockdown`` a BMC stays as locked as it is; with true it is unlocked for each change and locked again after it.
    """

    protocols: dict[Text, bool] = Field(
        default_factory=lambda: {"IPMI": False, "SNMP": False, "SSDP": False, "Telnet": False, "HTTP": False}
    )
    syslog: tuple[Text, ...] = Field(default=(), max_length=3)
    lockout: Lockout | None = None
    default_accounts: Literal["disabled", "kept"] = "disabled"
    certificate: BmcCertificate | None = None
    lockdown: bool | None = None
    required: tuple[HardeningItem, ...] = ()


class MonitoringSettings(Frozen):
    """Who watches the nodes, and where its alerts lead.

    ``scrapers`` are the addresses or prefixes that may reach the exporters of nodes; without any, every address may.
    ``bmc_metrics`` is HOST:PORT of ``metalwright monitoring bmc-metrics``, ``alertmanagers`` HOST:PORT each.
    ``runbook_url`` is where the site's ``runbooks/`` can be read, without a slash at its end.
    """

    scrapers: tuple[Text, ...] = ()
    bmc_metrics: HostPort = "127.0.0.1:9478"
    alertmanagers: tuple[HostPort, ...] = ()
    runbook_url: Annotated[str, StringConstraints(pattern=r"^https?://[^\s{}]*[^/\s{}]$", strict=True)] | None = None

    @field_validator("scrapers")
    @classmethod
    def _are_addresses(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            try:
                netaddr.IPNetwork(text)
            except (netaddr.AddrFormatError, ValueError) as error:
                raise ValueError(f"{text!r} is neither an IP address nor a prefix") from error
        return value


class Limits(Frozen):
    """How much happens at once, and for how long a phase may wait (minutes)."""

    parallel_nodes: Positive = 8
    ramdisk_boot_minutes: float = Field(default=15, gt=0)
    image_minutes: float = Field(default=60, gt=0)
    os_boot_minutes: float = Field(default=15, gt=0)
    bmc_settle_minutes: float = Field(default=10, gt=0)
    firmware_minutes: float = Field(default=120, gt=0)
    wipe_minutes: float = Field(default=2880, gt=0)
    attempts: Count = 2


class Site(Frozen):
    """``inventory/site.yaml``. ``acceptance_peer`` is the machine at the other end of the tests of the network."""

    schema_version: Literal[1] = Field(alias="schema")
    name: Slug
    region: Text = ""
    domain: Text
    ntp: tuple[Text, ...] = Field(min_length=1)
    dns: tuple[Address, ...] = ()
    journal: Text | None = None
    secrets: SecretStoreSettings = SecretStoreSettings()
    factory_credentials: tuple[FactoryCredential, ...] = ()
    bmc_user: Slug = "metalwright"
    bmc_password_max_length: Annotated[int, Field(ge=12, le=64, strict=True)] = 20
    hardening: Hardening = Hardening()
    redfish: RedfishSettings = RedfishSettings()
    boot_server: BootServerSettings
    network_boot: NetworkBoot = NetworkBoot()
    images: ImageSettings = ImageSettings()
    admins: tuple[AdminUser, ...] = Field(min_length=1)
    ssh: SshSettings = SshSettings()
    apt: AptSettings = AptSettings()
    monitoring: MonitoringSettings = MonitoringSettings()
    limits: Limits = Limits()
    hooks: tuple[NodeHooks, ...] = Field(default=(), description="of a node, the first entry that fits counts")
    acceptance_peer: Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z][0-9A-Za-z.:-]*$", strict=True)] | None = (
        None
    )

    @model_validator(mode="after")
    def _principals_have_an_authority(self) -> Site:
        for admin in self.admins:
            if admin.principals and not self.ssh.certificate_authorities:
                raise ValueError(f"principals of {admin.name} need ssh.certificate_authorities: nobody signs for them")
        return self
