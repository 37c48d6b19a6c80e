#!/bin/busybox sh
# udhcpc script of the deploy ramdisk: takes the address, and the first router as default route.
[ "$1" = bound ] || [ "$1" = renew ] || exit 0
ip addr flush dev "$interface"
ip addr add "$ip/${mask:-24}" dev "$interface"
for gateway in $router; do
	ip route replace default via "$gateway" dev "$interface" && break
done
