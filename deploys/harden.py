"""Phase *harden*: the BMC offers what is needed and no more."""

from metalwright.deploys.harden import harden

harden()
