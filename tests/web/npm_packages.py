"""The npm packages that tests of pages use, at the versions of the lock file."""

import os
import shutil
import subprocess
import sys


def skip(why):
    print("SKIPPED:", why)
    sys.exit(77)


def need_programs(*names):
    for name in names:
        if shutil.which(name) is None:
            skip(name + " is not installed")


def fetch(folder):
    """Puts them into folder/node_modules."""
    here = os.path.dirname(os.path.abspath(__file__))
    for name in ("package.json", "package-lock.json"):
        shutil.copy(os.path.join(here, name), folder)
    try:
        npm = subprocess.run(
            ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund",
             "--fetch-retries=0", "--fetch-timeout=20000"], cwd=folder,
            capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        skip("npm ci takes too long")
    if npm.returncode != 0:
        skip("npm ci: " + npm.stderr.strip()[-300:])
