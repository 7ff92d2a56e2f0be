"""The program, run as a batch: arguments in, its JSON object out."""

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
from pathlib import Path

# Lines of the program's messages that an error shows.
SHOWN = 20


class Failed(Exception):
    """The program could not do what it was asked for. `report` is its JSON object, `code` its exit code."""

    def __init__(self, message, code, report):
        super().__init__(message)
        self.code, self.report = code, report

    def __reduce__(self):
        # Errors travel between processes.
        return type(self), (self.args[0], self.code, self.report)


class Killed(Failed):
    """The program was killed, or had too little memory: the same command may succeed on another machine."""


def program():
    """The path of the program: `INKSTONE_PROGRAM`, else the one of this Python environment, else the first on the PATH."""
    named = os.environ.get("INKSTONE_PROGRAM")
    if named:
        return named
    for folder in [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user")]:
        found = Path(folder) / "inkstone"
        if found.is_file():
            return str(found)
    found = shutil.which("inkstone")
    if not found:
        raise FileNotFoundError("there is no program inkstone here: install the wheel, or name the program with INKSTONE_PROGRAM")
    return found


def version():
    """The version of the program."""
    return subprocess.run([program(), "--version"], check=True, capture_output=True, text=True).stdout.split()[-1]


def run(*arguments, folder=None, progress=False):
    """Runs a command and returns its JSON object as a dict.

    `folder` is where it runs (default: here). With `progress` the program's messages go to stderr as they come. Raises `Failed` with the
    program's own words where it could not run, `Killed` where it was killed. Ctrl-C asks the program to stop, and raises KeyboardInterrupt when it has.
    """
    command = [program(), *map(str, arguments), "--headless"]
    # A session of its own, so that Ctrl-C reaches the program once.
    child = subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )
    messages = []

    def listen():
        for line in child.stderr:
            messages[:] = [*messages[1 - SHOWN :], line]
            if progress:
                print(line, end="", file=sys.stderr, flush=True)

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        printed = child.stdout.read()
        child.wait()
    except BaseException:
        child.send_signal(signal.SIGINT)
        child.stdout.read()
        child.wait()
        raise
    finally:
        listener.join()
        child.stdout.close()
        child.stderr.close()
    try:
        report = json.loads(printed)
    except ValueError:
        report = {}
    if child.returncode in (0, 1) and report:
        return report
    if child.returncode == 130:
        raise KeyboardInterrupt
    said = report.get("error") or "".join(messages).strip() or f"inkstone ended with exit code {child.returncode}"
    killed = child.returncode < 0 or child.returncode == 137
    raise (Killed if killed else Failed)(said, child.returncode, report)
