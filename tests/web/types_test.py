#!/usr/bin/env python3
"""Checks the types of web/ with the TypeScript compiler: esbuild, which bundles
the pages, skips types.

usage: types_test.py SOURCE TYPES

TYPES: the folder with the types of messages, as the build writes them. Exit
code 77, which ctest shows as skipped, where node is not installed or npm cannot
fetch the compiler.
"""

import json
import os
import subprocess
import sys
import tempfile

import npm_packages


def main():
    source, types = map(os.path.abspath, sys.argv[1:3])
    npm_packages.need_programs("node", "npm")
    with tempfile.TemporaryDirectory(prefix="ek-", dir="/tmp") as folder:
        npm_packages.fetch(folder)
        web = os.path.join(source, "web")
        with open(os.path.join(folder, "tsconfig.json"), "w") as file:
            json.dump({"extends": os.path.join(web, "tsconfig.json"),
                       "compilerOptions": {
                           "paths": {"proto/*": [os.path.join(types, "*")]}},
                       "include": [web]}, file)
        return subprocess.run(
            [os.path.join("node_modules", ".bin", "tsc"), "--noEmit",
             "--strict", "-p", "."], cwd=folder).returncode


if __name__ == "__main__":
    sys.exit(main())
