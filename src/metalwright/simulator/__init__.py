"""Simulated servers: a Redfish service over machines that live in memory or in QEMU.

The package stands beside the rest and imports only :mod:`metalwright.errors`; it shares no code with
:mod:`metalwright.redfish`, so that client and service cannot share a bug.

``spec``      what a machine is made of (people write it as YAML)
``system``    power, boot and BIOS of one machine, over a ``Machine`` back end
``memory``    back end without virtualisation: booting runs a command
``qemu``      back end with real firmware, disks, console and network
``service``   the Redfish service of one BMC
``running``   start a service inside a test or another program
``lab``       a daemon that holds many machines: up, down, status
"""
