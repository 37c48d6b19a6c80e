#!/bin/sh
# initramfs-tools hook: puts drivers, programs and Python's standard library into the deploy ramdisk.
# Reads drivers.txt, programs.txt and python-modules.txt beside the configuration ($CONFDIR).
set -e
[ "$1" = prereqs ] && exit 0
. /usr/share/initramfs-tools/hook-functions

entries() { sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$CONFDIR/$1"; }

for driver in $(entries drivers.txt); do
	case $driver in
	*/*) copy_modules_dir "$driver" ;;
	*) manual_add_modules "$driver" ;;
	esac
done

for program in $(entries programs.txt); do
	copy_exec "$program"
done

entries python-modules.txt | python3 -B -c '
import importlib, sys
for name in sys.stdin.read().split():
    importlib.import_module(name)
for module in list(sys.modules.values()):
    if path := getattr(module, "__file__", None):
        print(path)
' | while read -r file; do
	case $file in
	*.so) copy_exec "$file" ;;
	*) mkdir -p "$DESTDIR${file%/*}" && cp "$file" "$DESTDIR$file" ;;
	esac
done
python3 -m compileall -q --invalidation-mode unchecked-hash -s "$DESTDIR" "$DESTDIR"/usr/lib/python3*

# This ramdisk has its own init; the boot scripts of initramfs-tools would never run.
rm -rf "$DESTDIR"/scripts/* "$DESTDIR/init"
