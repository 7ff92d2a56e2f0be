"""What a document costs must not grow with the market: runs `inkstone demo` at two scales and compares.

python3 .ci/scale.py PROGRAM. Each run is a process of its own in an empty folder with two threads. CPU time is user and system time of that
process, so that other work on the machine disturbs it little; memory is the most that was resident, pages of mapped files among it.
"""

import json
import os
import subprocess
import sys
import tempfile

SMALL, LARGE = 1, 5
# A run at scale 5 costs some 0.7 to 0.9 times as much a document as one at scale 1, and takes twice the memory.
MOST_CPU = 1.1
# Parts of the corpus have a fixed size; prices, models and panels of the market grow with it.
MOST_MEMORY = 2.6


def run(program, scale):
    with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "out.json"), "w+b") as out:
        command = [program, "demo", "--headless", "--scale", str(scale), "--threads", "2", "--dir", "demo"]
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        summary = json.load(out)
        if process.returncode not in (0, 1):
            sys.exit(f"demo --scale {scale} ended with {process.returncode}: {summary.get('error')}")
        with open(os.path.join(folder, "demo", "data", "truth.json")) as truth:
            documents = json.load(truth)["documents"]
        cpu, peak = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
        print(f"scale {scale}: {documents} documents, {cpu:.1f} s CPU, {1e6 * cpu / documents:.0f} us a document, peak {peak:.0f} MB")
        return cpu / documents, peak


small, large = run(sys.argv[1], SMALL), run(sys.argv[1], LARGE)
failed = False
for name, before, after, most in [("CPU a document", small[0], large[0], MOST_CPU), ("peak memory", small[1], large[1], MOST_MEMORY)]:
    print(f"{name}: {after / before:.2f} times that of scale {SMALL}, at most {most}")
    failed |= after > most * before
sys.exit(1 if failed else 0)
