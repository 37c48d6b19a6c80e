"""The typer application: global options, and how errors reach a person. The commands are in ``commands``."""

from __future__ import annotations

import contextlib
import errno
import io
import logging
import os
import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import TyperException

from metalwright import __version__
from metalwright.cli.commands import LazyCommands
from metalwright.cli.context import CliContext
from metalwright.errors import MetalwrightError
from metalwright.secrets.value import RedactingFilter, redact

EXIT_OK = 0
EXIT_ERROR = 1
EXIT_DIFFERENCE = 2
EXIT_USAGE = 64

_SYSTEM_HINTS = {
    errno.ENOSPC: "make room; what was there before is unchanged",
    errno.EDQUOT: "make room; what was there before is unchanged",
    errno.EROFS: "the file system is read-only: use another directory, or mount it for writing",
    errno.EACCES: "run it as the user that owns the site, or give it the right",
    errno.EPERM: "run it as the user that owns the site, or give it the right",
    errno.ENOTDIR: "a file lies where a directory belongs: move it away",
    errno.EISDIR: "a directory lies where a file belongs: move it away",
    errno.EEXIST: "something else has that name: move it away",
    errno.EMFILE: "raise the limit of open files (ulimit -n), or work on fewer nodes at once",
}

app = typer.Typer(
    name="metalwright",
    cls=LazyCommands,
    help="Declarative bare-metal provisioning for GPU fleets.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(value: bool) -> None:
    if value:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    site: Annotated[
        Path, typer.Option(envvar="METALWRIGHT_SITE", help="Site repository: the directory that holds inventory/.")
    ] = Path(),
    debug: Annotated[bool, typer.Option(envvar="METALWRIGHT_DEBUG", help="Show tracebacks.")] = False,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = (
        False
    ),
) -> None:
    del version
    context.obj = CliContext(site=site, debug=debug)


def _open_standard_streams() -> None:
    """A closed stdin, stdout or stderr becomes ``/dev/null``: else the next file that is opened takes its number.

    What a terminal's encoding cannot say is replaced, never an error.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))  # noqa: SIM115 - stays open
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _log_to_stderr() -> None:
    """Warnings go to stderr, without secrets."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
    handler.addFilter(RedactingFilter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


def main() -> None:
    """Entry point: runs a command and turns every outcome into an exit code."""
    _open_standard_streams()
    _log_to_stderr()
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command line; returns the exit code. 0 done, 1 error, 2 differences found, 64 wrong usage, 130 Ctrl-C."""
    debug = "--debug" in arguments or os.environ.get("METALWRIGHT_DEBUG", "") not in ("", "0")
    try:
        result = app(arguments, standalone_mode=False)
    except TyperException as error:
        _show_usage_error(error)
        return EXIT_USAGE
    except (typer.Abort, KeyboardInterrupt):
        typer.echo("interrupted", err=True)
        return 130
    except MetalwrightError as error:
        if debug:
            typer.echo(redact(traceback.format_exc()), err=True)
        _add_hint(error)
        typer.echo(redact(f"error: {error}"), err=True)
        return error.exit_code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_ERROR
    except OSError as error:
        if debug:
            typer.echo(redact(traceback.format_exc()), err=True)
        typer.echo(redact(f"error: {refused_by_system(error)}"), err=True)
        return EXIT_ERROR
    except Exception as error:
        if debug:
            typer.echo(redact(traceback.format_exc()), err=True)
        told = redact(f"error: {type(error).__name__}: {error}")
        typer.echo(f"{told}\n\nhint: this is a fault of metalwright; run again with --debug", err=True)
        return EXIT_ERROR
    return result if isinstance(result, int) else EXIT_OK


def _add_hint(error: MetalwrightError) -> None:
    """Where the operating system was the cause and nobody said what to do, say it."""
    cause = error.__cause__
    while isinstance(cause, MetalwrightError):
        cause = cause.__cause__
    if error.hint is None and isinstance(cause, OSError):
        error.hint = _SYSTEM_HINTS.get(cause.errno or 0)


def refused_by_system(error: OSError) -> MetalwrightError:
    """What a person is told where the operating system refused something and nobody between could say more."""
    return MetalwrightError(
        "the operating system refused it",
        where=str(error.filename)[:300] if error.filename is not None else _full_output(error),
        found=error.strerror or str(error) or type(error).__name__,
        hint=_SYSTEM_HINTS.get(error.errno or 0, "run again with --debug to see where"),
    )


def _full_output(error: OSError) -> str:
    """Where a standard stream goes, when what was written to it found no room; an error of a stream names no file."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        for number, name in ((1, "standard output"), (2, "standard error")):
            with contextlib.suppress(OSError):
                path = Path(f"/proc/self/fd/{number}").readlink()
                if path == Path("/dev/full") or (path.is_file() and os.statvfs(path).f_bavail == 0):
                    return f"{name}, {path}"
    return ""


def _show_usage_error(error: TyperException) -> None:
    show = getattr(error, "show", None)
    if callable(show):
        show()
    else:
        typer.echo(f"error: {error}", err=True)
