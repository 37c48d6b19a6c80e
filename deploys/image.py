"""Phase *image*, first half: the deploy ramdisk starts. Destructive, so it needs a grant."""

from metalwright.deploys.image import image

image()
