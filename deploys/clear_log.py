"""Clearing the event logs of a machine, on demand; what was in them is kept as evidence first."""

from metalwright.deploys.clear_log import clear_log

clear_log()
