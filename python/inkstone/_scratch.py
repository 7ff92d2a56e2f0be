"""Temporary folders that go with an object."""

import os
import shutil
import tempfile
import weakref


class Scratch:
    """A temporary folder, which is removed with this object; a forked child leaves it to its parent."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="inkstone-")
        self._removed = weakref.finalize(self, _remove, self.path, os.getpid())


def _remove(path, process):
    if os.getpid() == process:
        shutil.rmtree(path, ignore_errors=True)
