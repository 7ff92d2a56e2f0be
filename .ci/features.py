"""Fails if a package is built anew where one crate is tested, or the program or the Python module is built, after the whole workspace was tested.

Cargo builds a package once for each choice of features, and then all packages that depend on it. Way out: list the missing features in
crates/testing/Cargo.toml (packages of tests and build scripts), or in Cargo.toml (packages of the program).
"""

import json
import os
import subprocess
import sys


def units(*command):
    """What cargo would build of packages from a registry: from each unit, with all that it depends on, to its name and features."""
    # The list of units is for tools; cargo of a stable release gives it under this name alone.
    environment = os.environ | {"RUSTC_BOOTSTRAP": "1"}
    command = ["cargo", *command, "--locked", "--unit-graph", "-Z", "unstable-options"]
    output = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    graph = json.loads(output)["units"]
    keys = {}

    def key(at):
        if at not in keys:
            unit = graph[at]
            needs = sorted(key(need["index"]) for need in unit["dependencies"])
            own = [unit[name] for name in ("pkg_id", "mode", "platform", "features")]
            profile = unit["profile"] | {"name": None}
            keys[at] = json.dumps([own, profile, unit["target"]["kind"], hash(tuple(needs))])
        return keys[at]

    found = {}
    for at, unit in enumerate(graph):
        if unit["pkg_id"].startswith("registry+"):
            needs = [key(need["index"]) for need in unit["dependencies"]]
            found[key(at)] = (unit["pkg_id"].rpartition("#")[2], unit["features"], needs)
    return found


workspace = units("test", "--no-run")
crates = sorted(name for name in os.listdir("crates") if name != "testing")
packages = {package for package, _, _ in workspace.values()}
selections = {"the program": units("build"), "the Python module": units("build", "-p", "inkstone-python")}
selections |= {f"crates/{name}": units("test", "--no-run", "-p", f"inkstone-{name}") for name in crates}
failed = False
for selection, found in selections.items():
    for key, (package, features, needs) in sorted(found.items()):
        # What depends on a package that differs is built anew too, and is not told.
        if key not in workspace and package in packages and all(need in workspace for need in needs):
            failed = True
            known = {need for name, others, there in workspace.values() if (name, others) == (package, features) for need in there}
            which = [f"{workspace[need][0]} {workspace[need][1]}" for need in needs if known and need not in known]
            print(f"{selection}: {package} has the features {features}", *which, sep=", on ", file=sys.stderr)
sys.exit(failed)
