"""Makes the package of a finished build, for the other tests.

usage: build_test.py SOURCE BUILD FOLDER
"""
import pathlib
import shutil
import sys

from support import check, need, run

SOURCE, BUILD, FOLDER = (pathlib.Path(word) for word in sys.argv[1:4])

need("dpkg-deb", "dpkg-shlibdeps", "file")
shutil.rmtree(FOLDER, ignore_errors=True)
last = run(SOURCE / "tools/package", "--no-install", "--fast", "--build", BUILD,
           "--output", FOLDER).splitlines()[-1]
check(pathlib.Path(last).is_file(), f"tools/package names no file: {last}")
