"""cmake/group_sources.py never puts together what would mean something else."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "cmake"))
import group_sources  # noqa: E402


def anonymous(code):
    return f"namespace edgekiln {{\nnamespace {{\n{code}\n}}\n}}\n"


OWN_FITS = anonymous("bool Fits(int bytes) { return bytes < 4; }")

# Name, the other file, whether it may go with OWN_FITS.
CASES = [
    ("the same function", anonymous("int Fits(long x) { return 1; }"), False),
    ("a call of another's", "namespace edgekiln {\nint F() { return Fits(1); }\n}",
     False),
    ("a class", anonymous("class Fits : public Base {};"), False),
    ("a constant", anonymous("constexpr int Fits = 1;"), False),
    ("an alias", "namespace edgekiln {\nnamespace Fits = absl;\n}", False),
    ("a using-declaration", "namespace edgekiln {\nusing other::Fits;\n}", False),
    ("a macro", "#define Fits(x) x\n", False),
    ("in a macro", "#define M(x) Fits(x)\n", False),
    ("a static function", "static int Fits(long x) { return 1; }\n", False),
    ("a static function of a long type",
     "static std::map<std::string, std::map<int, std::vector<int>>>\n"
     "Fits(long x) { return {}; }\n", False),
    ("a macro's end", "#undef Fits\n", False),
    ("a using-directive", "using namespace other;\n", False),
    ("an anonymous operator",
     anonymous("bool operator==(const A& a, const A& b) { return true; }"),
     False),
    ("an operator for all", "bool operator==(const A& a, const A& b) {\n"
     "  return true;\n}\n", True),
    ("a using-directive of a function",
     "int F() {\n  using namespace other;\n  return 1;\n}\n", True),
    ("a brace of one branch",
     "#if A\nint F() {\n#else\nint F(int x) {\n#endif\n  return 1;\n}\n",
     False),
    ("a parameter", anonymous("int G(int Fits) { return Fits; }"), False),
    ("a method", "namespace edgekiln {\nint F(A& a) { return a.Fits(); }\n}", True),
    ("a method by pointer",
     "namespace edgekiln {\nint F(A* a) { return a->Fits(); }\n}", True),
    ("qualified", "namespace edgekiln {\nint F() { return other::Fits(); }\n}",
     True),
    ("a comment", "// Fits\n/* Fits */\nint x;\n", True),
    ("literals", 'const char* x = "Fits"; const char* y = R"(Fits)";\n', True),
    ("prefixed literals", 'auto x = u8R"(" Fits)"; auto y = u\'"\';'
     ' auto z = L"Fits";\n', True),
    ("a literal with a brace", anonymous("char a() { return '{'; }\nint b = 1;"),
     True),
    ("a number with marks", anonymous("int a = 1'000; int b = 2'000;"), True),
]


class GroupSourcesTest(unittest.TestCase):
    def groups(self, *texts):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for i, text in enumerate(texts):
                paths.append(str(pathlib.Path(folder, f"{i}.cc")))
                pathlib.Path(paths[-1]).write_text(text)
            return [[paths.index(path) for path in group]
                    for group in group_sources.groups(paths)]

    def test_pairs(self):
        for name, other, together in CASES:
            for texts in [(OWN_FITS, other), (other, OWN_FITS)]:
                with self.subTest(name):
                    self.assertEqual(sorted(self.groups(*texts)),
                                     [[0, 1]] if together else [[0], [1]])

    def test_names_are_found_behind_other_scopes(self):
        own, _ = group_sources.names(
            "namespace a::b {\nstruct S { int f() { return 1; } };\n"
            "namespace {\nenum class E { kOne };\nusing T = int;\n"
            "std::vector<int> Sizes(int x) {\n  int local = x;\n"
            "  return {local};\n}\n}\nint Later(int y) { return y; }\n}\n")
        self.assertLessEqual({"E", "T", "Sizes"}, own)
        self.assertTrue(own.isdisjoint({"f", "x", "local", "Later", "y"}))

    def test_a_using_declaration_is_a_name_of_its_own(self):
        """What the other file means is not what it brings."""
        user = "namespace edgekiln {\nint F() { return Fits(1); }\n}"
        for names in ("other::Fits", "other::Fits, other::Has"):
            self.assertEqual(
                self.groups(f"namespace edgekiln {{\nusing {names};\n}}", user),
                [[0], [1]])

    def test_groups_are_bounded_and_in_order(self):
        texts = [anonymous(f"int F{i}() {{ return 1; }}") for i in range(30)]
        found = self.groups(*texts)
        self.assertTrue(all(len(group) <= group_sources.LARGEST
                            for group in found))
        self.assertEqual([i for group in found for i in group],
                         list(range(30)))


if __name__ == "__main__":
    unittest.main()
