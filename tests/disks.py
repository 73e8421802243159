"""A disk that forgets what it was not told to keep, and that fails when it is told to.

Files are really written, below one folder. Beside that it is noted what would be there after the power was lost: of a
file what it had when it was synced, of a folder the names it had when that was synced, and nothing else.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any


class PowerLoss(BaseException):
    """Nothing that a program does after this has any effect."""


class Disk:
    """The functions of `os` that files of runs are written with."""

    def __init__(self, root: Path, *, crash_at: int = 0, fail_at: int = 0, error: int = errno.EIO) -> None:
        self._root = root
        self.crash_at, self.fail_at, self._error = crash_at, fail_at, error
        self._names: dict[int, dict[str, int]] = {os.stat(root).st_ino: {}}
        """Of each folder the names that are on the disk, and which file each of them is."""
        self._contents: dict[int, bytes] = {}
        self._held: list[int] = []
        """Every file that was opened, so that no later one gets the number of one that is gone."""
        self._is_off = False
        self.steps = 0
        self.done: list[str] = []
        """What was done, in order."""

    def __getattr__(self, name: str) -> Any:
        function = getattr(os, name)

        def step(*arguments: Any, **more: Any) -> Any:
            self._step(name)
            return function(*arguments, **more)

        return step

    def open(self, path: Any, flags: int, mode: int = 0o777) -> int:
        self._step("open")
        descriptor = os.open(path, flags, mode)
        self._held += [os.dup(descriptor), descriptor]
        return descriptor

    def close(self, descriptor: int) -> None:
        if descriptor in self._held:
            self._held.remove(descriptor)
        os.close(descriptor)

    def turn_off(self) -> None:
        """End the program that has files open here."""
        self._is_off = True
        while self._held:
            os.close(self._held.pop())

    def fsync(self, descriptor: int) -> None:
        self._step("fsync")
        found, place = os.fstat(descriptor).st_ino, Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        if place.is_dir():
            self._names[found] = {each.name: os.stat(each).st_ino for each in place.iterdir()}
            return
        self._contents[found] = Path(f"/proc/self/fd/{descriptor}").read_bytes()

    def after_power_loss(self, where: Path) -> Path:
        """A folder as the root would be found, made anew."""
        self._restore(os.stat(self._root).st_ino, where)
        self.turn_off()
        return where

    def _restore(self, folder: int, where: Path) -> None:
        where.mkdir()
        for name, inode in self._names.get(folder, {}).items():
            if inode in self._folders():
                self._restore(inode, where / name)
            else:
                (where / name).write_bytes(self._contents.get(inode, b""))

    def _folders(self) -> set[int]:
        return {os.stat(place).st_ino for place in [self._root, *self._root.rglob("*")] if place.is_dir()}

    def _step(self, name: str) -> None:
        if self._is_off:
            raise PowerLoss
        self.steps += 1
        self.done.append(name)
        if self.steps == self.crash_at:
            self._is_off = True
            raise PowerLoss
        if self.steps == self.fail_at:
            raise OSError(self._error, os.strerror(self._error))
