"""No error and no warning of Debian's checker.

usage: lintian_test.py PACKAGE_FOLDER
"""
import sys

from support import find_package, need, run

need("lintian")
print(run("lintian", "--allow-root", "--fail-on", "error,warning",
          find_package(sys.argv[1])))
