#!/bin/sh
# Puts back what a trial found, unless the trial was proven. usage: restore.sh NAME | --at-boot
# A trial is a directory: paths (one a line), before.tar (those that were there), undo and at-boot (shell scripts). A
# timer calls this when no proof came in time; a unit calls it at boot, before the network is up, when no proof had come
# at all.
trials=/var/lib/metalwright/trials
restore() {
    [ -e "$1/paths" ] || return 0
    xargs --delimiter='\n' rm -f < "$1/paths"
    tar --extract --absolute-names --file "$1/before.tar"
    if [ "$2" = now ]; then sh "$1/undo"; elif [ -e "$1/at-boot" ]; then sh "$1/at-boot"; fi
    rm -rf "$1"
    echo "metalwright: $1 was not proven: what was there before is back" >&2
}
if [ "$1" = --at-boot ]; then
    for trial in "$trials"/*; do restore "$trial" --at-boot; done
else
    restore "$trials/$1" now
fi
