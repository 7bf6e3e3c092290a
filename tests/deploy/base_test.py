"""Makes the archive of a minimal Debian 12, for the tests that install into one.

usage: base_test.py ARCHIVE

One that is there from an earlier run is used for a week.
"""
import pathlib
import subprocess
import sys
import tempfile
import time

from support import is_root, need, run, skip

ARCHIVE = pathlib.Path(sys.argv[1])
MIRROR = "http://deb.debian.org/debian"
WEEK_SECONDS = 7 * 86400

if ARCHIVE.exists() and time.time() < ARCHIVE.stat().st_mtime + WEEK_SECONDS:
    print(f"there already: {ARCHIVE}")
    sys.exit(0)
need("debootstrap")
if not is_root():
    skip("not root")
with tempfile.TemporaryDirectory(prefix="ek_base_") as scratch:
    done = subprocess.run(
        ["debootstrap", "--variant=minbase", "bookworm", f"{scratch}/root", MIRROR],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        skip(f"debootstrap from {MIRROR} fails:\n{done.stdout[-2000:]}")
    partial = ARCHIVE.with_suffix(".part")
    run("tar", "-C", f"{scratch}/root", "--one-file-system", "-cf", partial, ".")
    partial.rename(ARCHIVE)
