#!/usr/bin/env python3
"""Shows that the layer checks find what they are for: each case plants one
violation in a tree of its own, next to clean neighbours."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent

# A tree that follows the rules, with an edge of every interesting kind.
CLEAN = {
    "proto/edgekiln/v1/graph.proto": "",
    "base/error.h": "#include <string>\n",
    "ops/conv.h": '#include "base/error.h"\n#include "edgekiln/v1/graph.pb.h"\n',
    "target/target.h": '#include "base/error.h"\n',
    "compiler/ir/graph.h": '#include "ops/conv.h"\n#include "absl/x.h"\n',
    "compiler/ir/graph_test.cc":
        '#include "graph.h"\n#include "tests/support/npz.h"\n',
    "compiler/engines/dla/dla.h": '#include "compiler/ir/graph.h"\n',
    "compiler/engines/vta/vta.h": '#include <compiler/ir/graph.h>\n',
    "compiler/compile.cc": '#include "compiler/engines/dla/dla.h"\n',
    "simfarm/simulator.h": '#include "target/target.h"\n',
    "simfarm/simulators/dla/dla.cc": '#include "simfarm/simulator.h"\n',
    "simfarm/simulators/vta/vta.h": "",
    "simfarm/host/host.h": '#include "ops/conv.h"\n',
    "simfarm/session/run.cc": '#include "simfarm/host/host.h"\n',
    "server/worker.h": '#include "compiler/compile.h"\n',
    "server/daemon/jobs.cc": '#include "cache/store.h"\n',
    "client/main.cc": '#include "edgekiln/v1/graph.pb.h"\n',
    "tests/support/npz.h": '#include "base/error.h"\n',
    "tests/e2e_test.cc":
        '#include "simfarm/simulators/dla/dla.h"\n#include "client/main.h"\n',
}

# Name, file, its text, what must be said.
PLANTED_INCLUDES = [
    ("quoted", "compiler/a.cc", '#include "simfarm/simulator.h"',
     "compiler/ must not include simfarm/"),
    ("angle", "compiler/a.cc", "#include <simfarm/simulator.h>",
     "compiler/ must not include simfarm/"),
    ("dotted", "compiler/a.cc", '#include "../simfarm/simulator.h"',
     "name ../simfarm/simulator.h from the root"),
    ("dotted within a layer", "compiler/ir/a.cc", '#include "../compile.h"',
     "name ../compile.h from the root"),
    ("dotted inside a name", "compiler/a.cc",
     '#include "compiler/../simfarm/simulator.h"', "from the root"),
    ("absolute", "compiler/a.cc", '#include "/etc/passwd"', "from the root"),
    ("macro", "compiler/a.cc", "#include HEADER", "not a macro"),
    ("spaced", "compiler/a.cc", '  #  /* x */ include "client/main.h"',
     "compiler/ must not include client/"),
    ("digraph", "compiler/a.cc", '%:include "client/main.h"',
     "compiler/ must not include client/"),
    ("continued", "compiler/a.cc", '#include \\\n"client/main.h"',
     "compiler/ must not include client/"),
    ("include_next", "compiler/a.cc", '#include_next "client/main.h"',
     "compiler/ must not include client/"),
    ("in a header", "base/a.h", '#include "edgekiln/v1/graph.pb.h"',
     "base/ must not include proto/"),
    ("service header", "base/a.h", '#include <edgekiln/v1/graph.grpc.pb.h>',
     "base/ must not include proto/"),
    ("other suffix", "ops/a.inc", '#include "target/target.h"',
     "ops/ must not include target/"),
    ("engine to engine", "compiler/engines/dla/a.cc",
     '#include "compiler/engines/vta/vta.h"',
     "compiler/engines/dla/ must not include compiler/engines/vta/"),
    ("simulator to simulator", "simfarm/simulators/dla/a.cc",
     '#include "simfarm/simulators/vta/vta.h"',
     "simfarm/simulators/dla/ must not include simfarm/simulators/vta/"),
    ("simulator to ops", "simfarm/simulators/dla/a.cc",
     '#include "ops/conv.h"',
     "simfarm/simulators/dla/ must not include ops/"),
    ("simfarm to ops", "simfarm/dispatcher/a.cc", '#include "ops/conv.h"',
     "simfarm/ must not include ops/"),
    ("target to compiler", "target/a.cc", '#include "compiler/ir/graph.h"',
     "target/ must not include compiler/"),
    ("daemon to compiler", "server/daemon/a.cc",
     '#include "compiler/ir/graph.h"',
     "server/daemon/ must not include compiler/"),
    ("daemon through the worker", "server/daemon/a.cc",
     '#include "server/worker.h"', "server/daemon must not reach compiler"),
    ("client to target", "client/a.cc", '#include "target/target.h"',
     "client/ must not include target/"),
    ("product to tests", "compiler/ir/a.cc",
     '#include "tests/support/npz.h"',
     "compiler/ must not include tests/support/"),
    ("no row", "extra/a.cc", "", "extra has no row"),
]

# Name, folder, list file, what must be said. The clean targets are in LIST_FILES.
PLANTED_LINKS = [
    ("compiler links simfarm", "compiler/a",
     "add_library(bad INTERFACE)\n"
     "target_link_libraries(bad INTERFACE simfarm_lib)",
     "compiler/a/ must not link simfarm/: bad -> simfarm_lib"),
    ("private, through an alias", "ops/a",
     "add_library(bad STATIC a.cc)\n"
     "target_link_libraries(bad PRIVATE edgekiln::target_lib)",
     "ops/a/ must not link target/: bad -> target_lib"),
    ("in a generator expression", "base/a",
     "add_library(bad STATIC a.cc)\n"
     "target_link_libraries(bad PRIVATE $<$<CONFIG:Debug>:ops_lib>)",
     "base/a/ must not link ops/: bad -> ops_lib"),
    ("objects", "base/a",
     "add_library(bad STATIC a.cc $<TARGET_OBJECTS:ops_lib>)",
     "base/a/ must not link ops/: bad -> ops_lib"),
    ("engine to engine", "compiler/engines/vta",
     "add_library(bad STATIC a.cc)\n"
     "target_link_libraries(bad PRIVATE dla_engine_lib)",
     "compiler/engines/vta/ must not link compiler/engines/dla/"),
    ("simulator to ops", "simfarm/simulators/dla",
     "add_library(bad STATIC a.cc)\ntarget_link_libraries(bad PRIVATE ops_lib)",
     "simfarm/simulators/dla/ must not link ops/"),
    ("simulator reaches ops", "simfarm/simulators/dla",
     "add_library(bad STATIC a.cc)\n"
     "target_link_libraries(bad PRIVATE simfarm_over_host_lib)",
     "simfarm/simulators/* must not reach ops: bad -> .. -> ops_lib"),
    ("daemon reaches compiler", "server/daemon",
     "add_library(bad STATIC a.cc)\ntarget_link_libraries(bad PRIVATE worker_lib)",
     "server/daemon must not reach compiler: bad -> .. -> compiler_lib"),
    ("sources of another folder", "compiler/a",
     "add_library(bad STATIC ${PROJECT_SOURCE_DIR}/base/a.cc)\n"
     "target_link_libraries(bad PRIVATE ops_lib)",
     "base/ must not link ops/: bad -> ops_lib"),
    ("include directory", "compiler/a",
     "add_library(bad STATIC a.cc)\n"
     "target_include_directories(bad PRIVATE ${PROJECT_SOURCE_DIR}/simfarm)",
     "bad has the include directory"),
    ("include option", "compiler/a",
     "add_library(bad STATIC a.cc)\n"
     "target_compile_options(bad PRIVATE -include simfarm/x.h)",
     "bad has the option -include"),
    ("product to test support", "compiler/a",
     "add_library(bad STATIC a.cc)\n"
     "target_link_libraries(bad PRIVATE support_lib)",
     "compiler/a/ must not link tests/support/"),
    ("no row", "extra", "add_library(bad STATIC a.cc)", "extra/ has no row"),
]

LIST_FILES = {
    "base": ("base_lib", ""),
    "ops": ("ops_lib", "base_lib"),
    "target": ("target_lib", "base_lib"),
    "compiler": ("compiler_lib", "ops_lib target_lib"),
    "compiler/engines/dla": ("dla_engine_lib", "compiler_lib"),
    "simfarm/host": ("host_lib", "ops_lib"),
    "simfarm": ("simfarm_lib", "target_lib"),
    "simfarm/over_host": ("simfarm_over_host_lib", "host_lib"),
    "server": ("worker_lib", "compiler_lib simfarm_lib"),
    "tests/support": ("support_lib", "base_lib"),
}


def write(root, path, text):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


class TreeTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="layers_"))
        self.addCleanup(shutil.rmtree, self.root)
        write(self.root, "cmake/Layers.cmake",
              (ROOT / "cmake/Layers.cmake").read_text())

    def run_tool(self, *command):
        done = subprocess.run(command, capture_output=True, text=True,
                              check=False)
        # CMake wraps its messages.
        text = " ".join((done.stdout + done.stderr).split())
        return done.returncode, text


class IncludeCheckTest(TreeTest):
    def check(self):
        return self.run_tool(sys.executable, str(ROOT / "tools/check_includes.py"),
                             str(self.root))

    def setUp(self):
        super().setUp()
        for path, text in CLEAN.items():
            write(self.root, path, text)

    def test_clean_tree_passes(self):
        code, said = self.check()
        self.assertEqual((code, said), (0, "includes follow the layers"))

    def test_each_planted_include_is_found(self):
        for name, path, text, expected in PLANTED_INCLUDES:
            with self.subTest(name):
                write(self.root, path, text + "\n")
                code, said = self.check()
                (self.root / path).unlink()
                self.assertEqual(code, 1)
                self.assertIn(expected, said)
                self.assertIn(path, said)

    def test_symbolic_link_is_found(self):
        (self.root / "base/link.h").symlink_to(self.root / "ops/conv.h")
        code, said = self.check()
        self.assertEqual(code, 1)
        self.assertIn("symbolic link", said)

    def test_reach_through_headers_is_found(self):
        # Each step is allowed; the way from the simulator to the host is not.
        write(self.root, "simfarm/simulator.h",
              '#include "simfarm/host/host.h"\n')
        code, said = self.check()
        self.assertEqual(code, 1)
        self.assertIn("simfarm/simulators/* must not reach simfarm/host: "
                      "simfarm/simulators/dla/dla.cc -> simfarm/simulator.h "
                      "-> simfarm/host/host.h", said)

    def test_own_header_comes_first(self):
        write(self.root, "ops/own.h", "")
        for text, said in (('#include "ops/own.h"\n#include <string>\n', 0),
                           ('#include <string>\n#include "ops/own.h"\n', 1)):
            write(self.root, "ops/own.cc", text)
            self.assertEqual(self.check()[0], said)
        self.assertIn('ops/own.cc:1: #include "ops/own.h" comes first',
                      self.check()[1])

    def test_missing_table_is_an_error(self):
        write(self.root, "cmake/Layers.cmake", "set(EK_LAYERS\n)\n")
        code, _ = self.check()
        self.assertNotEqual(code, 0)


class LinkCheckTest(TreeTest):
    def configure(self, folder=None, text=""):
        """Configures the clean targets, and `text` in `folder`."""
        folders = list(LIST_FILES)
        for path, (name, deps) in LIST_FILES.items():
            write(self.root, f"{path}/a.cc", "")
            write(self.root, f"{path}/CMakeLists.txt",
                  f"add_library({name} STATIC a.cc)\n"
                  f"add_library(edgekiln::{name} ALIAS {name})\n"
                  f"target_link_libraries({name} PUBLIC {deps})\n")
        if folder:
            write(self.root, f"{folder}/a.cc", "")
            write(self.root, f"{folder}/planted/CMakeLists.txt",
                  text.replace("a.cc", "../a.cc")
                  .replace("base/../a.cc", "base/a.cc"))
            folders.append(f"{folder}/planted")
        write(self.root, "CMakeLists.txt",
              "cmake_minimum_required(VERSION 3.25)\n"
              "project(layers LANGUAGES CXX)\n"
              "include(cmake/Layers.cmake)\n"
              + "".join(f"add_subdirectory({f})\n" for f in folders)
              + "edgekiln_check_layers(${PROJECT_SOURCE_DIR})\n")
        return self.run_tool("cmake", "-G", "Ninja", "-S", str(self.root),
                             "-B", str(self.root / "build"))

    def test_clean_targets_pass(self):
        code, said = self.configure()
        self.assertEqual(code, 0, said)

    def test_each_planted_link_is_found(self):
        for name, folder, text, expected in PLANTED_LINKS:
            with self.subTest(name):
                code, said = self.configure(folder, text)
                self.assertNotEqual(code, 0)
                self.assertIn(expected.replace(folder + "/ ",
                                               folder + "/planted/ "), said)
                self.assertIn("bad", said)


if __name__ == "__main__":
    unittest.main()
