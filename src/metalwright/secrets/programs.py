"""Programs that keep secrets for us: called without a shell, secrets only on stdin and stdout."""

from __future__ import annotations

import shlex
import subprocess

from metalwright.errors import SecretError

TIMEOUT_S = 60.0


def run_program(command: str, *arguments: str, stdin: str | None = None, where: str) -> str:
    """Run a command line with more arguments, none of them secret, and return its stdout.

    Raises SecretError for a program that is missing, fails, hangs or does not answer with UTF-8. Its stderr is not
    shown, since it may quote the secret.
    """
    argv = _split(command, where)
    try:
        completed = subprocess.run(
            [*argv, *arguments],
            input=(stdin or "").encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=TIMEOUT_S,
            check=True,
        )
        return completed.stdout.decode()
    except FileNotFoundError as error:
        raise SecretError("no such program", where=where, found=argv[0]) from error
    except OSError as error:
        raise SecretError("the program cannot be run", where=where, found=f"{argv[0]}: {error.strerror}") from error
    except subprocess.CalledProcessError as error:
        raise SecretError(
            "the program failed", where=where, expected="exit status 0", found=str(error.returncode), hint=_HINT
        ) from None
    except subprocess.TimeoutExpired:
        raise SecretError("the program did not end", where=where, expected=f"{TIMEOUT_S:g} s", hint=_HINT) from None
    except UnicodeDecodeError:
        raise SecretError("the program's answer is not UTF-8 text", where=where, hint=_HINT) from None


_HINT = "run it by hand to see what it says"


def _split(command: str, where: str) -> list[str]:
    try:
        argv = shlex.split(command)
    except ValueError as error:
        raise SecretError("the command line cannot be split", where=where, found=str(error)) from error
    if not argv:
        raise SecretError("the command line is empty", where=where)
    return argv
