"""Whether a node can reach BMCs from the network of its workloads: the probe, and what its answers mean (pure)."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Literal

PORTS = (443, 22)
"""HTTPS and SSH of a BMC."""

TIMEOUT_S = 2

_PROBE = r"""
use Socket; use Errno qw(EINPROGRESS ECONNREFUSED);
my ($from, $wait, $mark, @to) = @ARGV;
for my $to (@to) {
  my ($host, $port) = $to =~ /^(.*):(\d+)$/;
  socket(my $s, PF_INET, SOCK_STREAM, 0) or die "socket: $!\n";
  !$mark || setsockopt($s, SOL_SOCKET, 36, pack("i", $mark)) or die "mark: $!\n";
  bind($s, pack_sockaddr_in(0, inet_aton($from))) or die "bind $from: $!\n";
  my $flags = fcntl($s, 3, 0); fcntl($s, 4, $flags | 2048);
  my $said;
  if (connect($s, pack_sockaddr_in($port, inet_aton($host)))) { $said = "open" }
  elsif ($! != EINPROGRESS) { $said = $! == ECONNREFUSED ? "refused" : "unreachable" }
  else {
    my $ready = ""; vec($ready, fileno($s), 1) = 1;
    if (!select(undef, $ready, undef, $wait)) { $said = "silent" }
    else { my $e = unpack("i", getsockopt($s, SOL_SOCKET, SO_ERROR));
      $said = !$e ? "open" : $e == ECONNREFUSED ? "refused" : "unreachable" }
  }
  print "$to $said\n"; close($s);
}
"""
"""Connects from one address to others. Perl is part of every Debian.

Numbers of Linux: SO_MARK, F_GETFL, F_SETFL, O_NONBLOCK."""

Answer = Literal["open", "refused", "unreachable", "silent"]
_WORDS: tuple[Answer, ...] = ("open", "refused", "unreachable", "silent")


def probe_command(source: str, targets: Sequence[str], *, timeout_s: float = TIMEOUT_S, mark: int = 0) -> str:
    """The line that tries ``ADDRESS:PORT`` from the own address ``source``, one after the other.

    ``mark``: that of the packets, which only root may set; 0 for none.
    """
    return shlex.join(["perl", "-e", _PROBE, source, str(timeout_s), str(mark), *targets])


def probe_limit_s(targets: Sequence[str]) -> float:
    """After so many seconds the probe hangs."""
    return TIMEOUT_S * len(targets) + 20.0


def probe_answers(text: str) -> dict[str, Answer]:
    """``ADDRESS:PORT`` → what came back."""
    lines = [line.rpartition(" ") for line in text.splitlines()]
    return {target: word for target, _, said in lines for word in _WORDS if word == said}


def reached(answers: Mapping[str, Answer]) -> tuple[str, ...]:
    """Targets that answered at all: a refusal comes from the machine too, so the way to it is open."""
    return tuple(target for target, said in answers.items() if said in ("open", "refused"))
