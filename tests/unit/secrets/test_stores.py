"""The two stores: nothing readable on disk, nothing lost, and a clear word when the file or the key is wrong."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests import desired

from metalwright.errors import SecretError
from metalwright.model.site import Site
from metalwright.secrets.commands import CommandStore
from metalwright.secrets.encrypted import EncryptedFileStore
from metalwright.secrets.opening import open_bmc_credentials, open_secrets
from metalwright.secrets.store import SecretStore
from metalwright.secrets.value import Secret

KEY = Secret("0123456789abcdef" * 4)

GET = "import pathlib, sys; p = pathlib.Path(sys.argv[1]) / sys.argv[2].replace('/', '_'); " + (
    "print(p.read_text() if p.exists() else '', end='')"
)
PUT = "import pathlib, sys; (pathlib.Path(sys.argv[1]) / sys.argv[2].replace('/', '_')).write_text(sys.stdin.read())"


def encrypted(directory: Path, key: Secret = KEY) -> EncryptedFileStore:
    return EncryptedFileStore(directory / "secrets.enc", key)


def commands(directory: Path) -> CommandStore:
    vault = directory / "vault"
    vault.mkdir(exist_ok=True)
    get, put = (f'{sys.executable} -c "{code}" {vault}' for code in (GET, PUT))
    return CommandStore(get, put, directory / "secrets.lock")


@pytest.fixture(params=[encrypted, commands], ids=["encrypted file", "commands"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> SecretStore:
    made: SecretStore = request.param(tmp_path)
    return made


def test_what_is_put_is_got(store: SecretStore) -> None:
    assert store.get("bmc/lab-1") is None
    store.put("bmc/lab-1", Secret(' blanks "quotes" ü '))
    store.put("bmc/lab-2", Secret("an-0ther-word"))
    store.put("bmc/lab-2", Secret("newer"))
    assert store.get("bmc/lab-1") == Secret(' blanks "quotes" ü ')
    assert store.get("bmc/lab-2") == Secret("newer")


def test_exclusive_blocks_may_be_nested(store: SecretStore) -> None:
    with store.exclusive(), store.exclusive():
        store.put("a", Secret("inside"))
    assert store.get("a") == Secret("inside")


def test_nothing_is_readable_on_disk(tmp_path: Path) -> None:
    encrypted(tmp_path).put("bmc/lab-1", Secret("hunter2-on-disk"))
    data = (tmp_path / "secrets.enc").read_bytes()
    assert b"hunter2" not in data
    assert b"lab-1" not in data
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


def test_it_survives_the_process(tmp_path: Path) -> None:
    encrypted(tmp_path).put("a", Secret("kept"))
    assert encrypted(tmp_path).get("a") == Secret("kept")


def get_one(store: SecretStore) -> None:
    store.get("a")


def put_one(store: SecretStore) -> None:
    store.put("a", Secret("lost?"))


def test_a_wrong_key_is_told_from_a_damaged_file(tmp_path: Path) -> None:
    encrypted(tmp_path).put("a", Secret("kept"))
    before = (tmp_path / "secrets.enc").read_bytes()
    for act in (get_one, put_one):
        with pytest.raises(SecretError, match="the key does not open"):
            act(encrypted(tmp_path, Secret("another key altogether")))
    assert (tmp_path / "secrets.enc").read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"\0" * 4096, b'{"magic": "metalw', b"{}", b"[]"])
def test_a_damaged_file_is_refused_and_not_touched(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "secrets.enc").write_bytes(content)
    for act in (get_one, put_one):
        with pytest.raises(SecretError, match="damaged"):
            act(encrypted(tmp_path))
    assert (tmp_path / "secrets.enc").read_bytes() == content


@pytest.mark.parametrize("field", ["ciphertext", "nonce"])
def test_an_altered_file_is_refused(tmp_path: Path, field: str) -> None:
    encrypted(tmp_path).put("a", Secret("kept"))
    path = tmp_path / "secrets.enc"
    content = json.loads(path.read_text())
    content[field] = ("A" if content[field][0] != "A" else "B") + content[field][1:]
    path.write_text(json.dumps(content))
    with pytest.raises(SecretError, match="damaged"):
        encrypted(tmp_path).get("a")


def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    def write(prefix: str) -> None:
        own = encrypted(tmp_path)
        for number in range(10):
            own.put(f"{prefix}{number}", Secret("x" * 20))

    threads = [threading.Thread(target=write, args=(prefix,)) for prefix in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(encrypted(tmp_path).get(f"{prefix}{number}") for prefix in "abc" for number in range(10))


def test_a_full_disk_leaves_the_old_content(tmp_path: Path) -> None:
    encrypted(tmp_path).put("a", Secret("kept"))
    code = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from metalwright.errors import SecretError\n"
        "from metalwright.secrets.encrypted import EncryptedFileStore\n"
        "from metalwright.secrets.value import Secret\n"
        f"store = EncryptedFileStore(Path(sys.argv[1]), Secret({KEY.reveal()!r}))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try:\n"
        "    store.put('b', Secret('x' * 10_000))\n"
        "except SecretError as error:\n"
        "    print(error.what)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "secrets.enc")]
    output = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert output.stdout.strip() == "the secret store cannot be written"
    assert encrypted(tmp_path).get("a") == Secret("kept")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["secrets.enc", "secrets.enc.lock"]


def test_the_secret_is_in_no_process_list(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    put = f'sh -c \'{sys.executable} -c "import sys; print(sys.argv); sys.stdin.read()" "$@" > {seen}\' sh'
    CommandStore("true", put, tmp_path / "lock").put("bmc/lab-1", Secret("hunter2-argv"))
    assert "bmc/lab-1" in seen.read_text()
    assert "hunter2" not in seen.read_text()


def test_a_failing_command_is_an_error_without_the_secret(tmp_path: Path) -> None:
    broken = CommandStore("false", "false", tmp_path / "lock")
    with pytest.raises(SecretError) as caught:
        broken.put("a", Secret("hunter2-failing"))
    assert (caught.value.where, caught.value.found) == ("secrets.put_command", "1")
    with pytest.raises(SecretError):
        broken.get("a")


def site(**settings: str) -> Site:
    return desired.site(
        secrets=settings or {"kind": "encrypted-file"},
        factory_credentials=[{"user": "admin", "password": "file:factory"}],
    )


def test_a_site_gets_its_key_file_once(tmp_path: Path) -> None:
    state_dir = tmp_path / ".metalwright"
    open_secrets(site(), state_dir).put("a", Secret("kept"))
    assert open_secrets(site(), state_dir).get("a") == Secret("kept")
    assert stat.S_IMODE((state_dir / "secrets.key").stat().st_mode) == 0o600


def test_a_lost_key_file_is_not_replaced(tmp_path: Path) -> None:
    state_dir = tmp_path / ".metalwright"
    open_secrets(site(), state_dir).put("a", Secret("kept"))
    (state_dir / "secrets.key").unlink()
    with pytest.raises(SecretError, match="missing"):
        open_secrets(site(), state_dir)
    assert not (state_dir / "secrets.key").exists()


def test_a_key_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    open_secrets(site(), tmp_path)
    (tmp_path / "secrets.key").chmod(0o640)
    with pytest.raises(SecretError) as caught:
        open_secrets(site(), tmp_path)
    assert (caught.value.expected, caught.value.found) == ("mode 0600", "0640")


def test_a_torn_key_file_is_refused(tmp_path: Path) -> None:
    open_secrets(site(), tmp_path)
    (tmp_path / "secrets.key").write_text("")
    with pytest.raises(SecretError, match="damaged"):
        open_secrets(site(), tmp_path)


def test_the_site_may_name_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORE_KEY", "a long phrase that is kept elsewhere")
    open_secrets(site(key="env:STORE_KEY"), tmp_path).put("a", Secret("kept"))
    assert [path.name for path in tmp_path.iterdir() if "key" in path.name] == []
    monkeypatch.setenv("STORE_KEY", "another one")
    with pytest.raises(SecretError, match="does not open"):
        open_secrets(site(key="env:STORE_KEY"), tmp_path).get("a")


def test_commands_are_needed_in_pairs(tmp_path: Path) -> None:
    with pytest.raises(SecretError, match="two commands"):
        open_secrets(site(kind="commands", get_command="pass"), tmp_path)
    assert isinstance(open_secrets(site(kind="commands", get_command="a", put_command="b"), tmp_path), CommandStore)


def test_the_factorys_logins_come_from_the_site(tmp_path: Path) -> None:
    (tmp_path / "factory").write_text("calvin-1")
    (candidate,) = open_bmc_credentials(site(), tmp_path / ".metalwright").candidates("lab-1")
    assert (candidate.user, candidate.password, candidate.origin) == ("admin", Secret("calvin-1"), "factory")
