"""Fails if a package has other features where one crate is tested, or the program is built, than where the whole workspace is tested.

Cargo would then build the package twice, and all packages that depend on it. Way out: list the missing features in crates/testing/Cargo.toml
(packages of tests and build scripts), or in Cargo.toml (packages of the program).
"""

import os
import subprocess
import sys


def features(*selection):
    """Feature lists of every package from a registry, by package."""
    command = ["cargo", "tree", "--locked", "--prefix", "none", "--no-dedupe", "--format", "{p}|{f}", *selection]
    packages = {}
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        package, separator, found = line.removesuffix(" (*)").partition("|")
        if separator and "(/" not in package:
            packages.setdefault(package.removesuffix(" (proc-macro)"), set()).add(found)
    return packages


workspace = features("--workspace", "--edges", "normal,build,dev")
crates = sorted(name for name in os.listdir("crates") if name != "testing")
selections = {"the program": features("--package", "inkstone", "--edges", "normal,build")}
selections |= {f"crates/{name}": features("--package", f"inkstone-{name}", "--edges", "normal,build,dev") for name in crates}
failed = False
for name, packages in selections.items():
    for package, found in sorted(packages.items()):
        for other in sorted(found - workspace[package]):
            failed = True
            print(f"{name}: {package} has the features [{other}], in the workspace {sorted(workspace[package])}", file=sys.stderr)
sys.exit(failed)
