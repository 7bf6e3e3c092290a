#!/usr/bin/env python3
"""How fast the page of a large report is in a browser: until it is first drawn,
and what a step of zooming or moving the timeline takes of a processor; beside
the page of docs/example/digits.onnx in the same run.

  tests/bench/page.py build/release/bin . --layers 1000 --segments 200000

A report has 4096 segments at most, so that the page is made from one of these
and more segments are put in: what it draws is bounded by pixels, not by them.
Nothing is asserted about time. Needs chromium, node and npm.
"""

import argparse
import copy
import json
import os
import shutil
import subprocess
import sys
import tempfile

MARK = '<script type="application/json" id="data">'


def profile(binaries, source, folder):
    path = os.path.join(folder, "digits.json")
    with open(path, "w") as file:
        subprocess.run([os.path.join(binaries, "edgekiln"), "profile",
                        os.path.join(source, "docs/example/digits.onnx"),
                        "--target", "dla-64-o-512k", "--json"],
                       stdout=file, check=True)
    return path


def enlarge(report, layers):
    """The report with its layers again and again, one after the other."""
    large = copy.deepcopy(report)
    few = report["layers"]
    large["layers"] = []
    for number in range(layers):
        layer = copy.deepcopy(few[number % len(few)])
        layer["id"] = "block_%d/%s" % (number // len(few), layer["id"])
        large["layers"].append(layer)
    large["totals"]["cycles"] = sum(l["cycles"] for l in large["layers"])
    return large


def fill(page, layers, segments):
    """As many segments as that in the data of the page, of both units."""
    begin = page.index(MARK) + len(MARK)
    end = page.index("</script>", begin)
    data = json.loads(page[begin:end])
    timeline = []
    for unit in (0, 1):
        for number in range(segments // 2):
            timeline += [unit, number % 3, 7 + number % 5, number % 2,
                         number * layers // (segments // 2), 1 + unit]
    shown = data["reports"][0]
    shown["timeline"] = [timeline] + [[] for _ in shown["timeline"][1:]]
    packed = json.dumps(data, separators=(",", ":"))
    return page[:begin] + packed.replace("<", "\\u003c") + page[end:]


def make_page(binaries, report, folder, name):
    source, out = (os.path.join(folder, name + suffix)
                   for suffix in (".json", ".html"))
    with open(source, "w") as file:
        json.dump(report, file)
    subprocess.run([os.path.join(binaries, "edgekiln"), "report", "html",
                    source, "-o", out], check=True, stdout=subprocess.DEVNULL)
    with open(out) as file:
        return out, file.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin")
    parser.add_argument("source")
    parser.add_argument("--layers", type=int, default=1000)
    parser.add_argument("--segments", type=int, default=200_000)
    parser.add_argument("--turns", type=int, default=5)
    arguments = parser.parse_args()
    sys.path.insert(0, os.path.join(arguments.source, "tests/web"))
    import npm_packages
    folder = tempfile.mkdtemp(prefix="edgekiln-page-")
    try:
        npm_packages.fetch(folder)
        for script in ("tests/bench/page.mjs", "tests/web/browser.mjs"):
            shutil.copy(os.path.join(arguments.source, script), folder)
        with open(profile(arguments.bin, arguments.source, folder)) as file:
            report = json.load(file)
        small, _ = make_page(arguments.bin, report, folder, "small")
        large, page = make_page(
            arguments.bin, enlarge(report, arguments.layers), folder, "large")
        with open(large, "w") as file:
            file.write(fill(page, arguments.layers, arguments.segments))
        subprocess.run(
            ["node", "page.mjs", shutil.which("chromium"),
             str(arguments.turns), small, large], cwd=folder, check=True)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
