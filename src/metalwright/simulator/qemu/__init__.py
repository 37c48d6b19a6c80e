"""A machine with real firmware, disks, console and network: QEMU, without privileges.

``accelerator``  KVM when it really works, else software emulation
``command``      the command line of one start (pure)
``qmp``          QEMU's control protocol
``console``      what the firmware says on the serial port
``machine``      the back end
"""
