#!/usr/bin/python3
"""Kernel arguments of this machine, for the next boot: shows them, or sets those that metalwright adds.

usage: kernel_arguments.py show | set [ARGUMENT…]

It finds who gives the kernel its arguments (the unified kernel image on the EFI system partition, systemd-boot, or
GRUB) and changes nothing else. Python's standard library alone; runs on the node. What stands before the word
``metalwright.args`` is the image's own and stays; the kernel ignores that word, which looks like the parameter of a
module.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial

MARK = "metalwright.args"
ESP_TYPE = "c12a7328-f81f-11d2-ba4b-00a0c93ec93b"
UNIFIED_IMAGES = ("EFI/BOOT/BOOTX64.EFI", "EFI/Linux/*.efi")
GRUB_FILE = "/etc/default/grub.d/90-metalwright.cfg"
GRUB_PROGRAMS = ("update-grub", "grub2-mkconfig -o /boot/grub2/grub.cfg")
ENTRIES = "loader/entries/*.conf"
SECTION_HEADER_BYTES = 40


class ArgumentsError(Exception):
    """What is wrong, in one sentence."""


def own_part(line: str) -> list[str]:
    """The image's own arguments of a command line."""
    words = line.split()
    return words[: words.index(MARK)] if MARK in words else words


def with_added(line: str, added: list[str]) -> str:
    """The command line with these and no other arguments of ours."""
    own = own_part(line)
    return " ".join([*own, MARK, *added] if added else own)


def sections(data: bytes) -> Iterator[tuple[str, int]]:
    """Yield name and offset of the header of each section of an EFI program."""
    if data[:2] != b"MZ":
        raise ArgumentsError("this is no EFI program")
    pe = struct.unpack_from("<I", data, 0x3C)[0]
    count, optional = struct.unpack_from("<H", data, pe + 6)[0], struct.unpack_from("<H", data, pe + 20)[0]
    for index in range(count):
        at = pe + 24 + optional + index * SECTION_HEADER_BYTES
        yield data[at : at + 8].rstrip(b"\0").decode(), at


def is_signed(data: bytes) -> bool:
    """Whether the program carries a signature, which any change would break."""
    pe = struct.unpack_from("<I", data, 0x3C)[0]
    is_64 = struct.unpack_from("<H", data, pe + 24)[0] == 0x20B
    size: int = struct.unpack_from("<I", data, pe + 24 + (112 if is_64 else 96) + 4 * 8 + 4)[0]
    return size != 0


def command_line_header(data: bytes) -> int | None:
    """Where the header of the section of the command line is; None in another program."""
    return next((at for name, at in sections(data) if name == ".cmdline"), None)


def read_unified(data: bytes) -> str:
    """The command line inside a unified kernel image."""
    at = command_line_header(data)
    if at is None:
        raise ArgumentsError("this is no unified kernel image")
    size, _, raw_size, pointer = struct.unpack_from("<IIII", data, at + 8)
    return data[pointer : pointer + min(size, raw_size)].split(b"\0")[0].decode().strip()


def write_unified(path: str, line: str) -> None:
    """Put the new command line behind the file, then point to it: one sector decides which of the two counts."""
    with open(path, "r+b", buffering=0) as file:
        data = file.read()
        if is_signed(data):
            raise ArgumentsError("the unified kernel image is signed: its arguments belong in the image")
        at = command_line_header(data)
        if at is None:
            raise ArgumentsError("this is no unified kernel image")
        address = struct.unpack_from("<I", data, at + 12)[0]
        text = line.encode() + b"\0"
        others = [struct.unpack_from("<I", data, header + 12)[0] for _, header in sections(data)]
        room = min((other for other in others if other > address), default=address + 65536) - address
        if len(text) > room:
            raise ArgumentsError(f"the arguments need {len(text)} bytes, the image has room for {room}")
        pointer = -(-len(data) // 512) * 512
        file.seek(pointer)
        file.write(text.ljust(-(-len(text) // 512) * 512, b"\0"))
        os.fsync(file.fileno())
        file.seek(at + 8)
        file.write(struct.pack("<IIII", len(text), address, -(-len(text) // 512) * 512, pointer))
        os.fsync(file.fileno())


@contextlib.contextmanager
def efi_system_partition(*, writable: bool = False) -> Iterator[str | None]:
    """The EFI system partition of the disk that holds /, mounted; None where there is none."""
    if os.environ.get("METALWRIGHT_ESP"):
        yield os.environ["METALWRIGHT_ESP"]
        return
    device, mounted = find_partition()
    if mounted:
        yield mounted
        return
    if device is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="esp-") as directory:
        subprocess.run(["mount", "-o", "rw" if writable else "ro", device, directory], check=True)
        try:
            yield directory
        finally:
            subprocess.run(["umount", directory], check=True)


def find_partition() -> tuple[str | None, str | None]:
    """Device and mount point of the EFI system partition on the disk under /."""
    columns = "PATH,PARTTYPE,MOUNTPOINT,PKNAME"
    done = subprocess.run(
        ["lsblk", "--json", "--list", "--output", columns], capture_output=True, text=True, check=True
    )
    rows = json.loads(done.stdout)["blockdevices"]
    disk = next((row["pkname"] for row in rows if row["mountpoint"] == "/"), None)
    for row in rows:
        if (row["parttype"] or "").lower() == ESP_TYPE and row["pkname"] == disk:
            return row["path"], row["mountpoint"]
    return None, None


def unified_images(esp: str) -> list[str]:
    """The unified kernel images that the firmware or systemd-boot starts."""
    paths = [path for pattern in UNIFIED_IMAGES for path in glob.glob(os.path.join(esp, pattern))]
    return [path for path in paths if holds_command_line(path)]


def holds_command_line(path: str) -> bool:
    """Whether the program is a unified kernel image; headers are in its first 4 KiB."""
    with open(path, "rb") as file:
        start = file.read(4096)
    try:
        return command_line_header(start) is not None
    except (ArgumentsError, struct.error):
        return False


def has_grub() -> bool:
    """Whether GRUB's configuration is made on this system."""
    return os.path.isdir("/etc/default/grub.d") or os.path.exists("/etc/default/grub")


def read_loader(esp: str | None) -> tuple[str, str, Callable[[str], None]]:
    """(loader, command line of the next boot, how to write it)."""
    images = unified_images(esp) if esp else []
    if images:
        with open(images[0], "rb") as file:
            line = read_unified(file.read())
        return "unified kernel image", line, partial(write_all, write_unified, images)
    entries = sorted(glob.glob(os.path.join(esp, ENTRIES))) if esp else []
    if entries:
        return "systemd-boot", read_entry(entries[-1]), partial(write_all, write_entry, entries)
    if has_grub():
        return "GRUB", with_added(running(), grub_arguments()), write_grub
    raise ArgumentsError("no boot loader is known here: no unified kernel image, no systemd-boot entry, no GRUB")


def write_all(write: Callable[[str, str], None], paths: list[str], line: str) -> None:
    """The same command line for every kernel that can be booted."""
    for path in paths:
        write(path, line)


def read_entry(path: str) -> str:
    """The options of a boot loader entry."""
    with open(path, encoding="utf-8") as file:
        return " ".join(line.split(None, 1)[1].strip() for line in file if line.startswith("options "))


def write_entry(path: str, line: str) -> None:
    """Replace the options of a boot loader entry."""
    with open(path, encoding="utf-8") as file:
        kept = [text for text in file if not text.startswith("options ")]
    replace(path, "".join(kept) + f"options {line}\n")


def grub_arguments() -> list[str]:
    """What our drop-in adds."""
    if not os.path.exists(GRUB_FILE):
        return []
    with open(GRUB_FILE, encoding="utf-8") as file:
        text = file.read()
    return text.partition(f"{MARK} ")[2].partition('"')[0].split()


def write_grub(line: str) -> None:
    """Write the drop-in and have GRUB's own program make its configuration."""
    added = added_part(line)
    text = f'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT {" ".join([MARK, *added])}"\n' if added else ""
    os.makedirs(os.path.dirname(GRUB_FILE), exist_ok=True)
    replace(GRUB_FILE, text)
    for program in GRUB_PROGRAMS:
        if subprocess.run(["sh", "-c", f"command -v {program.split()[0]}"], capture_output=True).returncode == 0:
            subprocess.run(program.split(), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            return
    raise ArgumentsError("GRUB's update-grub or grub2-mkconfig is not installed")


def replace(path: str, text: str) -> None:
    """Write beside and rename."""
    draft = f"{path}.metalwright"
    with open(draft, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)


def running() -> str:
    """The command line of the kernel that runs."""
    with open("/proc/cmdline", encoding="utf-8") as file:
        return file.read().strip()


def added_part(line: str) -> list[str]:
    """What stands behind our word in a command line."""
    return line.split()[len(own_part(line)) + 1 :]


def main(words: list[str]) -> None:
    """Show, or set and show."""
    is_setting = words[0] == "set"
    with efi_system_partition(writable=is_setting) as esp:
        loader, line, write = read_loader(esp)
        if is_setting:
            wanted = with_added(line, words[1:])
            if wanted != line:
                write(wanted)
            loader, line, _ = read_loader(esp)
            if added_part(line) != words[1:]:
                raise ArgumentsError(f"written and not there: {line}")
    tell(loader, added_part(line), "")


def tell(loader: str, added: list[str], problem: str) -> None:
    """One line of JSON: who gives the arguments, ours for the next boot, ours of the kernel that runs."""
    print(json.dumps({"loader": loader, "next": added, "running": added_part(running()), "problem": problem}))


if __name__ == "__main__":
    arguments = sys.argv[1:] or ["show"]
    try:
        main(arguments)
    except (ArgumentsError, OSError, subprocess.CalledProcessError) as error:
        if arguments[0] == "set":
            sys.exit(f"kernel arguments: {error}")
        tell("", [], str(error))
