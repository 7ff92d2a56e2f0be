#!/usr/bin/env python3
"""Packs a built program for release: an archive, a wheel (on Linux with glibc) and SHA256SUMS.

    cargo build --release --locked -p inkstone -p inkstone-python
    python3 packaging/release.py target/release/inkstone dist

The wheel holds the program, the Python package and its compiled module, which lies beside the program. Nothing is compiled; cargo
downloads the sources of linked crates that it does not have, for their licences. The same program and commit give the same bytes: names
are sorted, owners are 0, and every time is SOURCE_DATE_EPOCH, else that of the commit. (Another release of zlib may compress otherwise.)
Needs Python 3.9, cargo, git and, for the wheel, readelf of binutils.
"""

import base64
import csv
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [
    "CHANGELOG.md",
    "LICENSE",
    "README*.md",
    "assets/keys.*.md",
    "assets/screens/*.svg",
    "docs/glossary.md",
    "docs/guide*.md",
    "docs/results*.md",
    "docs/scale.md",
    "recipes/*.md",
    "recipes/*.py",
    "recipes/*/*.md",
    "recipes/*/*.toml",
    "recipes/eras/run.sh",
    "recipes/sources/*.py",
    "workbench.toml",
]
COMPLETIONS = {"bash": "inkstone.bash", "fish": "inkstone.fish", "zsh": "_inkstone"}
LICENCE_FILE = re.compile(r"(licen[cs]e|copying|copyright|notice|unlicense)", re.IGNORECASE)
# Folders of a crate that are not compiled into the program.
NOT_LINKED = {"benches", "contrib", "docs", "examples", "programs", "tests"}
# Libraries that every system of a manylinux tag has.
SYSTEM_LIBRARIES = re.compile(r"(libc|libm|libdl|libpthread|librt|libgcc_s)\.so\.\d+|ld-linux[\w-]*\.so\.\d+")


def output(*command):
    """The standard output of a command, as text."""
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    return subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE).stdout.decode()


def is_licence(path, folder):
    """Whether a file of a crate's folder is the text of a licence."""
    within = path.relative_to(folder).parts[:-1]
    code = path.suffix in {".rs", ".c", ".h", ".py"}
    return path.is_file() and LICENCE_FILE.match(path.name) and not code and not NOT_LINKED.intersection(within)


def third_party(packages):
    """The licence of every crate that is linked into the program or the Python module, and the texts that these crates carry."""
    tree = output(
        *("cargo", "tree", "--locked", "--package", "inkstone", "--package", "inkstone-python", "--prefix", "none"),
        *("--edges", "normal,no-proc-macro", "--format", "{p}"),
    )
    linked = {tuple(line.split()[:2]) for line in tree.splitlines() if line}
    lines = ["Inkstone links the Rust standard library (MIT OR Apache-2.0) and these crates.", ""]
    # Equal texts stand once, below the names of all files that hold them.
    texts = {}
    for package in sorted(packages, key=lambda package: (package["name"], package["version"])):
        name, version = package["name"], package["version"]
        if not package["source"] or (name, f"v{version}") not in linked:
            continue
        lines.append(f"{name} {version}: {package['license'] or 'see its text'}")
        folder = Path(package["manifest_path"]).parent
        for path in sorted(path for path in folder.rglob("*") if is_licence(path, folder)):
            text = path.read_text(encoding="utf-8", errors="replace").strip()
            holders, _ = texts.setdefault(" ".join(text.split()), ([], text))
            holders.append(f"{name} {version}: {path.relative_to(folder).as_posix()}")
    for holders, text in texts.values():
        lines += ["", "=" * 100, *holders, "-" * 100, text]
    return "\n".join(lines) + "\n"


def write_archive(path, files, seconds):
    """Writes a .tar.gz whose files lie in one folder with the archive's name."""
    folder = path.name[: -len(".tar.gz")]
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=seconds) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for name, (content, mode) in sorted(files.items()):
                entry = tarfile.TarInfo(f"{folder}/{name}")
                entry.size, entry.mode, entry.mtime = len(content), mode, seconds
                archive.addfile(entry, io.BytesIO(content))


def glibc_of(binary):
    """The oldest glibc, as (major, minor), that has every symbol that a binary takes from it."""
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "--wide", "--dynamic", binary))
    foreign = [library for library in needed if not SYSTEM_LIBRARIES.fullmatch(library)]
    if foreign:
        sys.exit(f"error: {binary} needs {', '.join(foreign)}, which a wheel cannot count on")
    versions = re.findall(r"\bGLIBC_(\d+)\.(\d+)", output("readelf", "--wide", "--version-info", binary))
    if not versions:
        sys.exit(f"error: {binary} takes no symbol from glibc; is it built for another libc?")
    return max((int(major), int(minor)) for major, minor in versions)


def write_wheel(path, tag, package, files, module, seconds):
    """Writes a wheel that puts the program among the scripts of a Python environment, and the package `inkstone` with its compiled module
    beside it."""
    name = f"inkstone-{package['version']}"
    licences = ["LICENSE", "THIRD-PARTY.txt"]
    metadata = [
        "Metadata-Version: 2.4",
        "Name: inkstone",
        f"Version: {package['version']}",
        f"Summary: {package['description']}",
        f"License-Expression: {package['license']}",
        "Requires-Python: >=3.10",
        *(f"License-File: {licence}" for licence in licences),
    ]
    about = ["Wheel-Version: 1.0", "Generator: packaging/release.py", "Root-Is-Purelib: false", f"Tag: {tag}"]
    entries = {
        f"{name}.data/scripts/inkstone": files["inkstone"],
        f"{name}.data/data/share/man/man1/inkstone.1": files["man/man1/inkstone.1"],
        **{f"inkstone/{path.name}": (path.read_bytes(), 0o644) for path in (ROOT / "python/inkstone").glob("*.py*") if path.is_file()},
        "inkstone/py.typed": (b"", 0o644),
        "inkstone/_native.abi3.so": (module.read_bytes(), 0o755),
        **{f"{name}.dist-info/licenses/{licence}": files[licence] for licence in licences},
        f"{name}.dist-info/METADATA": ("\n".join(metadata + [""]).encode(), 0o644),
        f"{name}.dist-info/WHEEL": ("\n".join(about + [""]).encode(), 0o644),
    }
    record = io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    for entry, (content, _) in sorted(entries.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        rows.writerow([entry, f"sha256={digest}", len(content)])
    rows.writerow([f"{name}.dist-info/RECORD", "", ""])
    # A zip file knows no time before 1980.
    made = time.gmtime(max(seconds, 315532800))[:6]
    with zipfile.ZipFile(path, "w") as wheel:
        for entry, (content, mode) in [*sorted(entries.items()), (f"{name}.dist-info/RECORD", (record.getvalue().encode(), 0o644))]:
            info = zipfile.ZipInfo(entry, made)
            # Made on Unix: a plain file with these permissions.
            info.create_system, info.external_attr = 3, (0o100000 | mode) << 16
            wheel.writestr(info, content, zipfile.ZIP_DEFLATED)


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: packaging/release.py PROGRAM FOLDER")
    program, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    # The program runs here, so it is built for this system.
    target = re.search(r"^host: (\S+)", output("rustc", "-vV"), re.MULTILINE)[1]
    metadata = output("cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target)
    packages = json.loads(metadata)["packages"]
    (package,) = [package for package in packages if package["name"] == "inkstone" and not package["source"]]
    version = output(program, "--version").strip()
    if version != f"inkstone {package['version']}":
        sys.exit(f"error: {program} is {version}, and the source is {package['version']}: build it again")
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or output("git", "log", "-1", "--format=%ct"))

    files = {"inkstone": (program.read_bytes(), 0o755)}
    for pattern in DOCUMENTS:
        found = list(ROOT.glob(pattern))
        if not found:
            sys.exit(f"error: the release needs {pattern}, and there is no such file")
        files.update({path.relative_to(ROOT).as_posix(): (path.read_bytes(), 0o644) for path in found})
    for shell, file in COMPLETIONS.items():
        files[f"completions/{file}"] = (output(program, "completions", shell).encode(), 0o644)
    files["man/man1/inkstone.1"] = (output(program, "man").encode(), 0o644)
    files["THIRD-PARTY.txt"] = (third_party(packages).encode(), 0o644)

    folder.mkdir(parents=True, exist_ok=True)
    made = f"inkstone-{package['version']}-"
    write_archive(folder / f"{made}{target}.tar.gz", files, seconds)
    if target.endswith("-linux-gnu"):
        module = program.with_name("libinkstone_native.so")
        if not module.is_file():
            sys.exit(f"error: there is no {module}: cargo build --release --locked -p inkstone-python")
        glibc = max(glibc_of(program), glibc_of(module))
        tag = "cp310-abi3-manylinux_{}_{}_{}".format(*glibc, target.split("-")[0])
        write_wheel(folder / f"{made}{tag}.whl", tag, package, files, module, seconds)
    else:
        print(f"no wheel: it is made on Linux with glibc only, and this is {target}")
    # The sums are of all files of this version, since those of other systems are brought here before they are published.
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob(f"{made}*"))}
    (folder / "SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()))
    print((folder / "SHA256SUMS").read_text(), end="")


if __name__ == "__main__":
    main()
