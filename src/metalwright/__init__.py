"""Declarative bare-metal provisioning for GPU fleets."""

__version__ = "0.1.0"
