#!/usr/bin/env python3
"""Shows what check_engine_names.py finds: each case plants one line."""
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import check_engine_names  # pylint: disable=wrong-import-position

# File, its text, the numbers of the lines that must be found.
CASES = [
    ("compiler/codegen/emit.cc", "dla::Emit();\n", [1]),
    ("compiler/codegen/emit.cc", "a;\nb;\nDlaChip chip;\n", [3]),
    ("compiler/codegen/emit.cc", "kDlaPoolMax\n", [1]),
    ("compiler/codegen/emit.cc", "v1::EngineDescriptor::COARSE_DLA\n", [1]),
    ("compiler/codegen/emit.cc", "// As the DLA does.\n", [1]),
    ("compiler/codegen/emit.cc", 'if (name == "dla") {}\n', [1]),
    ("compiler/codegen/emit.cc", "// A coarse engine.\n", [1]),
    ("compiler/codegen/emit.cc", "AddLabels(); kFailedLately; ReadLabels();\n", []),
    ("server/CMakeLists.txt", "target_link_libraries(a simfarm_dla)\n", [1]),
    ("server/notes.txt", "dla\n", []),
    ("proto/edgekiln/v1/program.proto", "DlaPlan plan = 1;\n", [1]),
    ("client/help.cc", '"edgekiln profile --target dla-64-o-512k"\n', []),
    ("target/resolve.cc", '"see `edgekiln targets show dla`"\n', []),
    # Its own files, and the switches.
    ("compiler/engines/dla/chip.cc", "namespace dla {}\n", []),
    ("simfarm/simulators/dla/stream.h", "namespace dla {}\n", []),
    ("target/models/dla.cc", "DlaCommand\n", []),
    ("compiler/codegen/backends.cc", "COARSE_DLA\n", []),
    # Another engine's files are not its own.
    ("compiler/engines/other/chip.cc", "dla::Chip\n", [1]),
    # Tests say what users say, and use nothing of an engine.
    ("compiler/codegen/emit_test.cc", 'EXPECT_EQ(name, "dla");  // The DLA.\n', []),
    ("tests/e2e/a_test.cc", 'R"(name: "dla"\n)"; DlaTarget();\n', [2]),
    ("tests/e2e/a_test.cc", '#include "compiler/engines/dla/chip.h"\n', [1]),
    ("tests/e2e/a_test.cc", "bool coarse = true;\n", []),
]


class CheckEngineNamesTest(unittest.TestCase):
    def test_finds_what_names_an_engine(self):
        for path, text, lines in CASES:
            with self.subTest(path=path, text=text), tempfile.TemporaryDirectory() as folder:
                root = pathlib.Path(folder)
                (root / path).parent.mkdir(parents=True)
                (root / path).write_text(text)
                found = [(name, line) for name, line, _, _ in
                         check_engine_names.offenders(root)]
                self.assertEqual(found, [(path, line) for line in lines])


if __name__ == "__main__":
    unittest.main()
