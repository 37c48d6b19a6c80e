"""What is taken out of logs and reports before they are kept."""

from __future__ import annotations

import pytest

from metalwright.secrets.masking import mask_secrets, mask_texts
from metalwright.secrets.value import Secret


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("kernel: cmdline root=/dev/sda1 ipa_password=abc123 ro", "kernel: cmdline root=/dev/sda1 ipa_password=*** ro"),
        ('"api-key": "xyz", "x": 1', '"api-key": "***", "x": 1'),
        ("Password:\nnext line", "Password:\nnext line"),
        ("mount //u:pw@host", "mount //u:pw@host"),
        ("GET https://user:pw@host/path", "GET https://***@host/path"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer ***"),
        ("NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus", None),
    ],
)
def test_what_looks_like_a_secret_is_masked_and_nothing_else(text: str, masked: str | None) -> None:
    assert mask_secrets(text) == (text if masked is None else masked)


def test_private_keys_and_known_secrets_go_also_where_the_end_is_missing() -> None:
    Secret("known-to-us-9")
    key = "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\nBBBB\n"
    assert mask_secrets(f"a {key}-----END OPENSSH PRIVATE KEY----- b").count("AAAA") == 0
    assert "BBBB" not in mask_secrets(key)
    assert mask_texts({"a": ["x known-to-us-9 y", 3, None], "b": ("token=t",)}) == {
        "a": ["x *** y", 3, None],
        "b": ["token=***"],
    }
