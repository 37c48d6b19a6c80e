"""One test per entry of the expectations file, one SSH connection for all of them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

from metalwright.acceptance.backend import node_host
from metalwright.acceptance.job import JOB_VARIABLE, Job
from metalwright.acceptance.readings import LSBLK, SeenDisk, lsblk_disks, sshd_settings
from metalwright.errors import SshError, SshTimeoutError
from metalwright.ssh import connect


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give ``test_<kind>(check)`` every entry of that kind."""
    if "check" in metafunc.fixturenames:
        checks = _job().expected["checks"].get(metafunc.function.__name__.removeprefix("test_"), [])
        metafunc.parametrize("check", checks, ids=[str(check["id"]) for check in checks])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Drop the placeholders that pytest makes for a kind without entries: a skip would look like an unknown."""
    items[:] = [item for item in items if "[NOTSET]" not in item.name]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Mark what is no evidence about the node: a lost connection. A hang is evidence, and says so."""
    if call.excinfo is not None and call.excinfo.errisinstance(SshError):
        kind = "hang" if call.excinfo.errisinstance(SshTimeoutError) else "transport"
        item.user_properties.append((kind, str(call.excinfo.value)))
    return (yield)


@pytest.fixture(scope="session")
def job() -> Job:
    """What to check, and where."""
    return _job()


@pytest.fixture(scope="session")
def host(job: Job) -> Iterator[Host]:
    """The node."""
    with connect(job.target, host_key=job.host_key, key=job.private_key, timeout_s=job.connect_timeout_s) as session:
        yield node_host(session, job.command_limit_s)


@pytest.fixture(scope="session")
def sshd(host: Host) -> dict[str, str]:
    """What sshd itself says it uses, all drop-ins read; asked once."""
    return sshd_settings(host.check_output("sshd -T"))


@pytest.fixture(scope="session")
def disks(host: Host) -> tuple[SeenDisk, ...]:
    """The disks of the node; asked once."""
    return lsblk_disks(host.check_output(LSBLK))


@pytest.fixture
def unknown() -> Any:
    """Call it with a reason when the node does not tell: the result is NOT-RUN, never PASS."""
    return pytest.skip


def _job() -> Job:
    return Job.from_json(json.loads(Path(os.environ[JOB_VARIABLE]).read_text(encoding="utf-8")))
