"""What each phase sees: frozen values, read anew at every turn. ``changes`` is what the phase would do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from metalwright.model.boot import BootChoice
from metalwright.model.certificate import Certificate
from metalwright.model.deployment import Deployment
from metalwright.model.finding import Finding, MatchResult
from metalwright.model.image import Stamp
from metalwright.model.phase import Phase
from metalwright.model.plan import NOTHING_ANSWERS, Change


class Observation(Protocol):
    """Every observation can say what it would change."""

    def changes(self) -> tuple[Change, ...]:
        """Differences between desired and observed, in the order of removal."""
        ...


@dataclass(frozen=True)
class IdentifyObservation:
    """Contradictions of the declared identity keys; the TLS pin."""

    findings: tuple[Finding, ...]
    pin: Literal["pinned", "first-use", "plain-http"]
    serials: Mapping[str, str | None] = field(default_factory=dict)

    def changes(self) -> tuple[Change, ...]:
        """Looking changes nothing."""
        return ()


@dataclass(frozen=True)
class CredentialsObservation:
    """Whether our own login opens the BMC, whether a rotation is half done, and whose account it is.

    ``is_own_account``: it is the site's ``bmc_user``, or one that stays shared because the BMC has no other to give.
    """

    user: str
    own_login_works: bool
    is_staged: bool = False
    is_own_account: bool = True

    def changes(self) -> tuple[Change, ...]:
        """A new password, never its value."""
        if self.own_login_works and not self.is_staged:
            if self.is_own_account:
                return ()
            return (Change(phase=Phase.CREDENTIALS, what="log in to the BMC by an account of its own", to=self.user),)
        what = "finish the rotation of the BMC password" if self.is_staged else "give the BMC its own password"
        return (Change(phase=Phase.CREDENTIALS, what=what, from_="factory", to=f"account {self.user}"),)


@dataclass(frozen=True)
class MatchObservation:
    """Hardware against the blueprint."""

    result: MatchResult

    def changes(self) -> tuple[Change, ...]:
        """Hardware is changed by people."""
        return ()


@dataclass(frozen=True)
class AddressObservation:
    """Where the BMC answers and where it should; ``answers_at_allocated`` includes key and identity."""

    allocated: str
    current: str
    answers_at_allocated: bool

    def changes(self) -> tuple[Change, ...]:
        """The move of the BMC."""
        if self.answers_at_allocated:
            return ()
        return (Change(phase=Phase.ADDRESS, what="BMC address", from_=self.current, to=self.allocated),)


@dataclass(frozen=True)
class VersionCheck:
    """One firmware constraint. ``holds`` is ``None`` when the version is unknown or cannot be compared."""

    name: str
    constraint: str
    found: str | None
    holds: bool | None


@dataclass(frozen=True)
class FirmwareChange:
    """One image that would be installed. ``what`` names the component and what is special about the step."""

    what: str
    found: str | None
    wanted: str
    is_disruptive: bool = False


@dataclass(frozen=True)
class FirmwareObservation:
    """Firmware versions against the blueprint's constraints, the steps that would bring them there, and the next one.

    ``move`` is what to do now; ``text`` says why. ``stranger`` tells of an operating system that answers and is not
    ours, where a restart for new firmware would hit it unasked.
    """

    checks: tuple[VersionCheck, ...]
    steps: tuple[FirmwareChange, ...] = ()
    move: Literal["done", "push", "reset", "wait", "refuse", "fail"] = "done"
    text: str = ""
    stranger: str | None = None

    def changes(self) -> tuple[Change, ...]:
        """Images to install; a version that no image can bring is a refusal, not a change."""
        return tuple(
            Change(
                phase=Phase.FIRMWARE, what=step.what, from_=step.found, to=step.wanted, disruptive=step.is_disruptive
            )
            for step in self.steps
        )


@dataclass(frozen=True)
class AttributeChange:
    """One BIOS attribute; ``current`` is ``None`` when the BMC does not show it."""

    name: str
    current: str | None
    desired: str


@dataclass(frozen=True)
class BiosObservation:
    """The compiled plan: refusals, changes still to write, and changes that are pending until a reset.

    ``stranger`` tells of an operating system that answers and is not ours, where the reset would hit it unasked.
    ``goes_first`` is what waits for a restart of its own before anything is written, ``blocked`` whose job works.
    ``awaited`` were written by this invocation and are not in force yet; ``fruitless`` counts the restarts after
    which nothing of it was. ``drift`` are critical attributes that changed undeclared. ``reboots`` is what it takes.
    """

    registry: str
    refusals: tuple[str, ...] = ()
    to_write: tuple[AttributeChange, ...] = ()
    pending: tuple[AttributeChange, ...] = ()
    stranger: str | None = None
    goes_first: str | None = None
    blocked: str | None = None
    awaited: tuple[str, ...] = ()
    fruitless: int = 0
    drift: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    reboots: int = 0
    evidence: Mapping[str, str] = field(default_factory=dict)

    def changes(self) -> tuple[Change, ...]:
        """Attributes that differ; a reset applies them."""
        return tuple(
            Change(phase=Phase.BIOS, what=f"BIOS {item.name}", from_=item.current, to=item.desired, disruptive=True)
            for item in (*self.to_write, *self.pending)
        )


@dataclass(frozen=True)
class Deviation:
    """One setting that is not as it should be. What is not ``is_required`` may stay so, where the BMC will not."""

    what: str
    found: str
    wanted: str
    is_required: bool = True


@dataclass(frozen=True)
class HardenObservation:
    """Accounts, protocols and clock of the BMC."""

    deviations: tuple[Deviation, ...]

    def changes(self) -> tuple[Change, ...]:
        """Settings to write."""
        return tuple(
            Change(phase=Phase.HARDEN, what=item.what, from_=item.found, to=item.wanted) for item in self.deviations
        )


@dataclass(frozen=True)
class OsView:
    """What answers on the node's own address.

    ``ours``: the SSH host key is the one that we know, and login works. ``answers``: a TCP port is open but the
    machine could not be authenticated. ``silent``: nothing answers. ``starting`` are the jobs of its start that have
    not ended, empty where it is up or does not tell.
    """

    kind: Literal["ours", "answers", "silent"]
    stamp: Stamp | None = None
    boot_id: str | None = None
    detail: str | None = None
    starting: str = ""


@dataclass(frozen=True)
class HostView:
    """The host as its BMC shows it now; ``None`` where it does not tell.

    ``is_override_set``: the next boot is from what a boot override names. ``boot`` is how a ramdisk would start.
    """

    power: str | None
    is_medium_inserted: bool
    boot_progress: str | None = None
    is_override_set: bool | None = None
    boot: BootChoice | None = None


@dataclass(frozen=True)
class ImageObservation:
    """All that decides about writing a disk.

    ``deployment`` is the newest of the node, or none; ``is_own_deployment``: made under the lease that is held now
    (one of an earlier lease is never told *go*). A rebuild sees only deployments of its own run.
    ``is_medium_read``: the boot server was asked for the deployment's medium. ``boot`` is how a ramdisk would start.
    ``is_medium_read``: the boot server was asked for the deployment's medium. ``other_customers`` are those beside the
    node's own whose data its disks may hold; with ``may_wipe`` all of them are erased before the write.
    """

    wanted_image: str
    wanted_sha256: str
    journal_id: str
    is_rebuild: bool
    os: OsView
    power: str | None
    is_medium_inserted: bool
    deployment: Deployment | None
    is_own_deployment: bool
    has_grant: bool
    may_overwrite: bool
    was_ready: bool
    progress_age_s: float | None = None
    boot_progress: str | None = None
    is_override_set: bool | None = None
    is_medium_read: bool = False
    boot: BootChoice | None = None
    other_customers: tuple[str, ...] = ()
    may_wipe: bool = False

    @property
    def carries_wanted_image(self) -> bool:
        """Whether the running system is ours and was written from the wanted image."""
        stamp = self.os.stamp
        return self.os.kind == "ours" and stamp is not None and stamp.image == f"sha256:{self.wanted_sha256}"

    def changes(self) -> tuple[Change, ...]:
        """The re-image, when one is needed."""
        if self.carries_wanted_image and not self.is_rebuild:
            return ()
        found = self.os.stamp.image if self.os.stamp else {"silent": NOTHING_ANSWERS}.get(self.os.kind, "unknown OS")
        return (
            Change(
                phase=Phase.IMAGE,
                what="write the system disk",
                from_=found,
                to=f"{self.wanted_image} (sha256:{self.wanted_sha256[:12]}…)",
                disruptive=True,
            ),
            *self._boot_changes(),
        )

    def _boot_changes(self) -> tuple[Change, ...]:
        """How the ramdisk starts, and why not in another of the declared ways."""
        if self.boot is None or self.boot.method is None:
            return ()
        others = f" ({self.boot.others()})" if self.boot.why_not else ""
        return (Change(phase=Phase.IMAGE, what="start the deploy ramdisk", to=f"by {self.boot.method}{others}"),)


@dataclass(frozen=True)
class RestartView:
    """Why the running system waits for a restart (``None``: it does not answer), and whether it already had one."""

    reasons: tuple[str, ...] | None = ()
    is_new_boot: bool = False
    detail: str = ""


@dataclass(frozen=True)
class SoftwareObservation:
    """Whether the recipe that was last accepted on this node is the present one, and what waits for a restart."""

    recipe: str
    accepted_recipe: str | None
    restart: RestartView = RestartView()

    def changes(self) -> tuple[Change, ...]:
        """A new recipe means that the deploys have something to do."""
        if self.recipe == self.accepted_recipe:
            return ()
        return (
            Change(phase=Phase.SOFTWARE, what="apply the software recipe", from_=self.accepted_recipe, to=self.recipe),
        )


@dataclass(frozen=True)
class AcceptObservation:
    """The certificate in force, and what happened since it was issued.

    ``disturbs``: the tests load or restart the node, so that its workload has to leave.
    """

    recipe: str
    certificate: Certificate | None
    is_valid: bool
    software_changed: bool
    disturbs: bool = False

    def changes(self) -> tuple[Change, ...]:
        """Tests to run."""
        if self.is_valid and not self.software_changed:
            return ()
        what = "run the acceptance tests"
        return (Change(phase=Phase.ACCEPT, what=what, to=self.recipe, disruptive=self.disturbs),)


@dataclass(frozen=True)
class UndrainView:
    """Whether a drained node is to be given back to its scheduler, and how far that is.

    ``told`` is what the hook says or why it failed, ``found`` what it printed; look again after ``pause_s``.
    """

    step: Literal["none", "due", "running", "failed"] = "none"
    told: str = ""
    found: str | None = None
    pause_s: float = 1.0


@dataclass(frozen=True)
class ReadyObservation:
    """What is left before the node joins the pool."""

    unsettled: tuple[str, ...]
    is_recorded: bool
    undrain: UndrainView = UndrainView()

    def changes(self) -> tuple[Change, ...]:
        """The record of the known-good tuple, and the way back to the scheduler."""
        record = Change(phase=Phase.READY, what="record the known-good tuple", to="ready")
        undrain = Change(phase=Phase.READY, what="undrain the node", from_="drained", to="in the pool")
        return (*(() if self.is_recorded else (record,)), *((undrain,) if self.undrain.step != "none" else ()))
