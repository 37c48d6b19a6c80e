"""Phase *firmware*: versions within the blueprint's constraints."""

from metalwright.deploys.firmware import firmware

firmware()
