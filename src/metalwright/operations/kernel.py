"""The kernel as the blueprint wants it: its settings in force, its packages where they are."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

from pyinfra import host
from pyinfra.api import QuoteString, StringCommand

from metalwright.errors import DeployError
from metalwright.facts.files import FileStates
from metalwright.facts.kernel import Governors, KernelArguments, KernelPackages, Sysctls
from metalwright.operations.differences import line, show_diff
from metalwright.operations.failure import Commands, answer, node_operation
from metalwright.operations.files import written
from metalwright.operations.restart import ask_for_restart

RELEASE = "@KERNEL_RELEASE@"
"""What stands for the running kernel in a template."""


@node_operation
def settings(wanted: Mapping[str, str], path: str) -> Commands:
    """Every setting of ``wanted`` is in force; else the file ``path`` is loaded, and the settings are read back.

    A setting that this kernel does not have fails the host before anything is changed.
    """
    found = answer(Sysctls, names=sorted(wanted)) if wanted else {}
    unknown = [name for name in wanted if found[name] is None]
    if unknown:
        raise DeployError(
            f"this kernel has no setting {', '.join(unknown)}",
            where=host.name,
            expected="settings that `sysctl --all` on the node lists",
            hint="correct software.sysctl of the blueprint, or load the module that brings the setting",
        )
    wrong = [name for name, value in wanted.items() if found[name] != _plain(value)]
    show_diff(line(name, found[name], wanted[name]) for name in wrong)
    if not wrong:
        host.noop("all kernel settings are in force")
        return
    yield StringCommand("sysctl --quiet --load", QuoteString(path))
    for name in wrong:
        yield StringCommand(
            'test "$(sysctl --values', QuoteString(name), "| tr -s '\\t ' ' ')\" =", QuoteString(_plain(wanted[name]))
        )


def _plain(value: str) -> str:
    return " ".join(value.split())


@node_operation
def governor(wanted: str | None, unit: str) -> Commands:
    """Every CPU follows the governor ``wanted``, now and at each boot by ``unit``; None: the unit is not there."""
    path = f"/etc/systemd/system/{unit}"
    if wanted is None:
        if path not in answer(FileStates, paths=[path]):
            host.noop("the governor is left to the system")
            return
        yield StringCommand(f"systemctl disable --quiet {unit}; rm {path}; systemctl daemon-reload")
        return
    found = answer(Governors)
    if not found:
        raise DeployError(
            "this machine offers no CPU governor",
            where=host.name,
            expected=f"software.cpu_governor {wanted}",
            found="no frequency policy in /sys/devices/system/cpu/cpufreq",
            hint="let the operating system control the frequency (BIOS), or leave cpu_governor out",
        )
    if set(found) == {wanted}:
        host.noop(f"every CPU follows {wanted}")
        return
    show_diff([line("CPU governor", ", ".join(sorted(set(found))), wanted)])
    yield StringCommand(f"systemctl daemon-reload && systemctl enable {unit} && systemctl restart {unit}")


@node_operation
def kept(preferences: Mapping[str, str]) -> Commands:
    """The running kernel stays: its packages are on hold, and apt takes no other one.

    ``preferences`` is a file (``path``, ``text``, ``mode``) in which ``@KERNEL_RELEASE@`` stands for the release.
    """
    kernel = answer(KernelPackages)
    unheld = sorted(name for name, is_held in kernel["packages"].items() if not is_held)
    text = preferences["text"].replace(RELEASE, re.escape(kernel["release"]))
    state = answer(FileStates, paths=[preferences["path"]]).get(preferences["path"])
    is_written = state is not None and state["sha256"] == hashlib.sha256(text.encode()).hexdigest()
    show_diff(_kernel_differences(unheld, is_written, kernel["release"]))
    if not is_written:
        yield written([{**preferences, "text": text}])
    if unheld:
        yield StringCommand("apt-mark hold", *map(QuoteString, unheld))
    elif is_written:
        host.noop(f"kernel {kernel['release']} stays")


def _kernel_differences(unheld: Sequence[str], is_written: bool, release: str) -> list[str]:
    lines = [line(f"package {name}", "not on hold", "on hold") for name in unheld]
    return lines if is_written else [line("kernel that apt may install", "any", f"{release} alone"), *lines]


@node_operation
def arguments(wanted: Sequence[str], program: str) -> Commands:
    """The next boot has the arguments ``wanted`` beside the image's own; a kernel that runs with others is told.

    ``program`` is :mod:`metalwright.operations.on_node.kernel_arguments` on the node. A restart is asked for in
    :data:`metalwright.model.node_paths.RESTART_REASONS`; plain pyinfra never restarts a node by itself.
    """
    found, words = answer(KernelArguments, program=program), list(wanted)
    if found["problem"] and words:
        raise DeployError(
            "the kernel arguments of this system cannot be set",
            where=host.name,
            expected="a unified kernel image, systemd-boot or GRUB",
            found=found["problem"],
            hint="put the arguments into the image, or leave software.kernel_args out",
        )
    is_set, is_running = found["next"] == words, found["running"] == words
    show_diff([] if is_set else [line("kernel arguments", _words(found["next"]), _words(words))])
    if not is_set:
        yield StringCommand("python3", QuoteString(program), "set", *map(QuoteString, words))
    if not is_running:
        reason = f"kernel arguments {_words(words)} instead of {_words(found['running'])}"
        yield ask_for_restart(reason)
    elif is_set:
        host.noop("the kernel was started with its arguments")


def _words(words: Sequence[str]) -> str:
    return " ".join(words) or "none of ours"
