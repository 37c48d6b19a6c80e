"""Examples of the phases that look at the BMC."""

from __future__ import annotations

from scripts.reference.examples import Example, after

from metalwright.lifecycle.observations import (
    AddressObservation,
    AttributeChange,
    BiosObservation,
    CredentialsObservation,
    Deviation,
    FirmwareObservation,
    HardenObservation,
    IdentifyObservation,
    MatchObservation,
    VersionCheck,
)
from metalwright.model.finding import Finding, MatchResult
from metalwright.model.phase import Phase

_WRONG = Finding(code="identity", verdict="FAIL", slot="serial", expected="A", found="B")
_HIDDEN = Finding(code="identity", verdict="DEFERRED", slot="bmc_mac", expected="aa:…")
_CPUS = Finding(code="cpu-count", verdict="FAIL", slot="cpus", expected="2", found="1")
_MEMORY = Finding(code="unknown-memory", verdict="DEFERRED", slot="memory", expected="2048 GiB")
_ATTRIBUTE = (AttributeChange("SriovSupport", "Disabled", "Enabled"),)
_SERIALS = {"serial": "A", "uuid": "…"}


def _bios(*, write: bool = False, pending: bool = False) -> BiosObservation:
    return BiosObservation("the registry", to_write=_ATTRIBUTE if write else (), pending=_ATTRIBUTE if pending else ())


BMC_EXAMPLES: dict[Phase, tuple[Example, ...]] = {
    Phase.IDENTIFY: (
        Example("all declared keys agree", IdentifyObservation((), "pinned", _SERIALS)),
        Example("one key is not shown, the others agree", IdentifyObservation((_HIDDEN,), "pinned", _SERIALS)),
        Example("a declared key differs", IdentifyObservation((_WRONG,), "pinned", {"serial": "B"})),
        Example("no declared key is shown", IdentifyObservation((_HIDDEN,), "first-use")),
    ),
    Phase.CREDENTIALS: (
        Example("our own account opens the BMC", CredentialsObservation("metalwright", own_login_works=True)),
        Example("only the factory login works", CredentialsObservation("metalwright", own_login_works=False)),
        Example(
            "our account works, a rotation is half done",
            CredentialsObservation("metalwright", own_login_works=True, is_staged=True),
        ),
        Example(
            "our account still does not work",
            CredentialsObservation("metalwright", own_login_works=False),
            after("credentials"),
        ),
    ),
    Phase.MATCH: (
        Example("nothing differs", MatchObservation(MatchResult(node="n", verdict="PASS"))),
        Example(
            "the memory is unknown", MatchObservation(MatchResult(node="n", verdict="DEFERRED", findings=(_MEMORY,)))
        ),
        Example("one CPU instead of two", MatchObservation(MatchResult(node="n", verdict="FAIL", findings=(_CPUS,)))),
    ),
    Phase.ADDRESS: (
        Example("the BMC answers at its allocated address", AddressObservation("10.0.0.11", "10.0.0.11", True)),
        Example("it answers at another one", AddressObservation("10.0.0.11", "10.0.0.101", False)),
        Example("it does not answer there yet", AddressObservation("10.0.0.11", "10.0.0.101", False), after("address")),
    ),
    Phase.FIRMWARE: (
        Example("all versions hold", FirmwareObservation((VersionCheck("bios", "==1.4", "1.4", True),))),
        Example("a version is not shown", FirmwareObservation((VersionCheck("gpu", ">=96", None, None),))),
        Example("a version is too old", FirmwareObservation((VersionCheck("bmc", ">=1.4", "1.2", False),))),
    ),
    Phase.BIOS: (
        Example("no attribute differs", _bios()),
        Example("an attribute is unknown to this BIOS", BiosObservation("the registry", refusals=("no Sriov",))),
        Example("an attribute differs", _bios(write=True)),
        Example("an attribute is pending, 5 s after the reset", _bios(pending=True), after("bios", 1, 5.0)),
        Example("it is still pending, 15 min after the reset", _bios(pending=True), after("bios", 1, 900.0)),
        Example("it is still pending after two resets", _bios(pending=True), after("bios", 2, 900.0)),
    ),
    Phase.HARDEN: (
        Example("nothing deviates", HardenObservation(())),
        Example("IPMI is on", HardenObservation((Deviation("IPMI over LAN", "on", "off"),))),
        Example("IPMI is still on", HardenObservation((Deviation("IPMI over LAN", "on", "off"),)), after("harden")),
    ),
}
