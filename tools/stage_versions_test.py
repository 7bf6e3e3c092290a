#!/usr/bin/env python3
"""Shows what a stage version depends on, with a small project of its own."""
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent

FILES = {
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.25)
project(stages LANGUAGES CXX)
include(cmake/Layers.cmake)
include(cmake/StageVersions.cmake)
add_subdirectory(server)
add_subdirectory(base)
add_subdirectory(ops)
add_subdirectory(proto)
add_subdirectory(target)
add_subdirectory(compiler)
edgekiln_finish_stage_versions()
""",
    "server/CMakeLists.txt": """
edgekiln_stage_versions(stage_versions
  STAGE import frontend
  STAGE tile tiling frontend)
add_library(user STATIC user.cc)
target_link_libraries(user PRIVATE stage_versions)
""",
    "server/user.cc": '#include "server/stage_versions.h"\n'
                      'static_assert('
                      'edgekiln::server::kStageVersions[0].stage[0] == \'i\');\n',
    "base/CMakeLists.txt": "add_library(base STATIC base.cc)\n"
                           "set_target_properties(base PROPERTIES "
                           "EK_VERSION_FILES ${CMAKE_CURRENT_SOURCE_DIR}/x.fbs)",
    "base/base.cc": "int base;\n",
    "base/x.fbs": "schema\n",
    "ops/CMakeLists.txt": "add_library(ops STATIC ops.cc)\n",
    "ops/ops.cc": "int ops;\n",
    "proto/CMakeLists.txt": """
add_library(messages INTERFACE)
set_target_properties(messages PROPERTIES EK_VERSION_FILES
  "${CMAKE_CURRENT_SOURCE_DIR}/edgekiln/v1/engines/one.proto")
""",
    "proto/edgekiln/v1/engines/one.proto": "\n",
    "target/CMakeLists.txt": "add_library(models STATIC models/one.cc)\n"
                             "set_target_properties(models PROPERTIES "
                             "EK_VERSION_FILES ${CMAKE_CURRENT_SOURCE_DIR}/data/chip.txtpb)",
    "target/models/one.cc": "int one_model;\n",
    "target/data/chip.txtpb": "\n",
    "compiler/CMakeLists.txt": """
add_library(engine_one STATIC engines/one/plan.cc)
target_link_libraries(engine_one PUBLIC models messages)
add_library(engine_two STATIC engines/two/plan.cc)
add_library(frontend STATIC frontend.cc)
target_link_libraries(frontend PUBLIC base messages)
add_library(tiling STATIC tiling.cc)
target_sources(tiling PUBLIC FILE_SET HEADERS
  BASE_DIRS ${PROJECT_SOURCE_DIR} FILES tiling.h)
target_link_libraries(tiling PRIVATE $<LINK_ONLY:ops> engine_one engine_two)
""",
    "compiler/engines/one/plan.cc": "int one;\n",
    "compiler/engines/two/plan.cc": "int two;\n",
    "compiler/frontend.cc": "int frontend;\n",
    "compiler/tiling.cc": "int tiling;\n",
    "compiler/tiling.h": "\n",
}


class StageVersionsTest(unittest.TestCase):
    def new_tree(self):
        root = pathlib.Path(tempfile.mkdtemp(prefix="stages_"))
        self.addCleanup(shutil.rmtree, root)
        for path, text in FILES.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        shutil.copytree(ROOT / "cmake", root / "cmake")
        subprocess.run(["cmake", "-G", "Ninja", "-S", root, "-B", root / "build"],
                       check=True, capture_output=True)
        return root

    def versions(self, root):
        done = subprocess.run(["ninja", "-C", root / "build", "user"],
                              check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        header = (root / "build/generated/server/stage_versions.h").read_text()
        rows = {stage + (" " + part if part else ""): version
                for stage, part, version in re.findall(
                    r'\{"(\w+)", "([\w/]*)",\s+"([0-9a-f]{64})"\}', header)}
        self.assertEqual(sorted(rows), ["import", "tile", "tile chip/chip",
                                        "tile engine/one", "tile engine/two"])
        return rows

    def test_depends_on_sources_and_on_nothing_else(self):
        root = self.new_tree()
        before = self.versions(root)
        self.assertEqual(self.versions(self.new_tree()), before)
        for path, stages in [
                ("base/base.cc", {"import", "tile"}),
                ("base/x.fbs", {"import", "tile"}),
                ("compiler/frontend.cc", {"import", "tile"}),
                ("compiler/tiling.cc", {"tile"}),
                ("compiler/tiling.h", {"tile"}),
                ("ops/ops.cc", {"tile"}),
                ("compiler/engines/one/plan.cc", {"tile engine/one"}),
                ("compiler/engines/two/plan.cc", {"tile engine/two"}),
                ("target/models/one.cc", {"tile engine/one"}),
                ("target/data/chip.txtpb", {"tile chip/chip"}),
                # What imports has its messages and none of its code.
                ("proto/edgekiln/v1/engines/one.proto", {"tile engine/one"}),
                ("server/user.cc", set())]:
            with self.subTest(path):
                (root / path).write_text(FILES[path] + "// changed\n")
                after = self.versions(root)
                changed = {s for s in before if before[s] != after[s]}
                self.assertEqual(changed, stages)
                (root / path).write_text(FILES[path])
                self.assertEqual(self.versions(root), before)


if __name__ == "__main__":
    unittest.main()
