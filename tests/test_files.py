"""Files are whole or not there, on disks that forget and fail: those of runs, recordings, eval sets and lakes."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.disks import Disk, PowerLoss

from rightcall import files
from rightcall.cli._files import replace_file as replace_users_file
from rightcall.running.mocking import RecordedCall, Recording

OLD, NEW = b"old content", b"new content, which is longer"


def recorded(path: Path, data: bytes) -> None:
    Recording((RecordedCall(case="a", tool=data.decode(), args={}, output=1),)).save(path)


def edited(path: Path, data: bytes) -> None:
    replace_users_file(str(path), path.read_bytes() if path.exists() else None, data)


def finished(path: Path, data: bytes) -> None:
    (part := path.with_name("part")).write_bytes(data)
    files.keep_file(part, path)


WAYS: dict[str, Callable[[Path, bytes], None]] = {
    "a file": lambda path, data: files.replace_file(path, data, 0o600),
    "a recording": recorded,
    "an eval set": edited,
    "a part of a lake": finished,
}


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Any], None]]:
    with monkeypatch.context() as patched:
        yield lambda disk: patched.setattr(files, "disk", disk)


def contents(folder: Path, write: Callable[[Path, bytes], None]) -> tuple[bytes, bytes]:
    """What the file is before, and after."""
    found = []
    for data in (OLD, NEW):
        write(folder / "sample", data)
        found.append((folder / "sample").read_bytes())
    (folder / "sample").unlink()
    return found[0], found[1]


@pytest.mark.parametrize("write", WAYS.values(), ids=WAYS)
def test_a_file_is_the_old_one_or_the_new_one_whenever_the_power_is_lost(
    tmp_path: Path, put: Callable[[Any], None], write: Callable[[Path, bytes], None]
) -> None:
    old, new = contents(tmp_path, write)
    is_over, step = False, 0
    while not is_over:
        step += 1
        (root := tmp_path / str(step)).mkdir()
        disk = Disk(root)
        put(disk)
        write(root / "file", OLD)
        disk.crash_at = disk.steps + step
        try:
            write(root / "file", NEW)
            is_over = True
        except PowerLoss:
            is_over = False
        put(os)

        found = disk.after_power_loss(tmp_path / f"found {step}")
        assert (found / "file").read_bytes() in ((new,) if is_over else (old, new))
    assert step > 4


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC], ids=["EIO", "ENOSPC"])
@pytest.mark.parametrize("write", WAYS.values(), ids=WAYS)
def test_a_disk_that_fails_is_told_and_leaves_one_of_the_two(
    tmp_path: Path, put: Callable[[Any], None], write: Callable[[Path, bytes], None], error: int
) -> None:
    old, new = contents(tmp_path, write)
    for step in range(1, 6):
        (root := tmp_path / str(step)).mkdir()
        disk = Disk(root, error=error)
        put(disk)
        write(root / "file", OLD)
        disk.fail_at = disk.steps + step
        with pytest.raises(Exception, match=os.strerror(error)):
            write(root / "file", NEW)
        put(os)
        disk.turn_off()

        assert (root / "file").read_bytes() in (old, new)
        assert [path.name for path in root.iterdir() if path.name != "part"] == ["file"]


def test_a_file_system_that_knows_no_sync_of_folders_is_taken_as_it_is(
    tmp_path: Path, put: Callable[[Any], None]
) -> None:
    class Simple(Disk):
        def fsync(self, descriptor: int) -> None:
            if Path(os.readlink(f"/proc/self/fd/{descriptor}")).is_dir():
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    put(Simple(tmp_path))

    files.replace_file(tmp_path / "file", NEW, 0o600)

    assert (tmp_path / "file").read_bytes() == NEW
