"""All phases of the BMC's side that harm nothing on a disk, in order; the image phase needs a grant: deploys/image.py.

The address comes last: after it the BMC may be elsewhere.
"""

from metalwright.deploys.address import address
from metalwright.deploys.bios import bios
from metalwright.deploys.credentials import credentials
from metalwright.deploys.firmware import firmware
from metalwright.deploys.harden import harden

credentials()
firmware()
bios()
harden()
address()
