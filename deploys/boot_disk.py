"""Phase *image*, second half: away with the medium, up from the disk."""

from metalwright.deploys.boot_disk import boot_disk

boot_disk()
