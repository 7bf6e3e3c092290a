"""What the tests of deploy/ share."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

TARGET_CYCLES = ("dla-64-o-512k", 178781)  # As in README.md.


def skip(why):
    """Of what tools/install_packages test does not install: also with CI=true."""
    print("SKIPPED:", why)
    sys.exit(77)


def need(*programs):
    for program in programs:
        if shutil.which(program) is None:
            skip(f"no {program}: tools/install_packages deploy")


def check(holds, what):
    if not holds:
        sys.exit(f"FAILED: {what}")


def run(*command, **options):
    """Standard output; ends the test with all that was printed on failure."""
    options = {"text": True, "stdout": subprocess.PIPE,
               "stderr": subprocess.STDOUT, "timeout": 600, **options}
    done = subprocess.run([str(word) for word in command], **options)
    check(done.returncode == 0,
          f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def find_package(folder):
    found = sorted(pathlib.Path(folder).glob("edgekiln_*.deb"))
    if not found:
        skip(f"{folder} has no package: the test that builds it was skipped")
    return found[-1]


def unit_values(text):
    """All values of each key of a unit, whatever the section."""
    values = {}
    for line in text.replace("\\\n", " ").splitlines():
        if match := re.match(r"([A-Za-z]+)=(.*)", line):
            values.setdefault(match[1], []).append(match[2].strip())
    return values


def config_names(text):
    """The fields that a config names, set or as a comment, with their values."""
    return dict(re.findall(r"^(?:# )?([a-z_]+): *(\S+)", text, re.M))


def is_root():
    return os.geteuid() == 0


def say(text):
    print(time.strftime("%H:%M:%S"), text, flush=True)


def wait_for(what, holds, seconds=60):
    until = time.monotonic() + seconds
    while not holds():
        check(time.monotonic() < until, f"{what}: not within {seconds} s")
        time.sleep(0.2)
