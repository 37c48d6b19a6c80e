"""Failing one host in words, without stopping the others."""

from __future__ import annotations

from typing import NoReturn

from pyinfra.api import FunctionCommand

from metalwright.errors import DeployError


def failure(error: DeployError) -> FunctionCommand:
    """A command that fails its host with the error. (An exception in an operation's body would stop every host.)"""
    return FunctionCommand(_raise, [error], {})


def _raise(error: DeployError) -> NoReturn:
    raise error
