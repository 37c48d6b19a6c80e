"""The persistent boot order, on demand: no shell before the disk, and the disk's entry enabled."""

from metalwright.deploys.boot_order import boot_order

boot_order()
