"""Machines for tests: the system of this computer, copy on write, each with an init, a network and boots of its own."""

from tests.machines.machine import Machine, Segment, can_run_machines, segment

__all__ = ["Machine", "Segment", "can_run_machines", "segment"]
