"""SSH to the operating system of a node: pinned host key, results apart from failures of the way there."""

from metalwright.ssh.known_hosts import forget_host, known_hosts_line, read_host_key, record_host_key
from metalwright.ssh.login import connect
from metalwright.ssh.probe import Probe, probe
from metalwright.ssh.session import Completed, Session
from metalwright.ssh.target import Target, normal_host_key, target_of

__all__ = [
    "Completed",
    "Probe",
    "Session",
    "Target",
    "connect",
    "forget_host",
    "known_hosts_line",
    "normal_host_key",
    "probe",
    "read_host_key",
    "record_host_key",
    "target_of",
]
