// ONNX's own conformance tests (Debian: libonnx-testdata) through import,
// simplification and the interpreter.

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/conformance_onnx/conformance_case.h"
#include "tests/conformance_onnx/listed_operators.h"
#include "tests/conformance_onnx/skip_list.h"
#include "tests/support/golden.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

// Where the package puts it.
constexpr char kData[] = "/usr/share/libonnx-testdata/data/";
constexpr char kSkipList[] = "tests/conformance_onnx/skipped.txt";

// Cases, and how many of them pass.
struct Counts {
  int cases = 0;
  int passed = 0;

  friend bool operator==(const Counts&, const Counts&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Counts& counts) {
    return out << counts.passed << " of " << counts.cases;
  }
};

struct Suite {
  const char* name;
  const char* folder;
  Counts listed;  // Of listed operators only.
  Counts others;
  bool simplify;
};

void PrintTo(const Suite& suite, std::ostream* out) { *out << suite.name; }

std::vector<std::string> CasesOf(const std::string& suite) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kData + suite)) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Without the published tests: skipped on a user's machine, failed in CI.
class OnnxDataTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::filesystem::exists(kData)) return;
    EK_SKIP(absl::StrCat("there is no ", kData, ": install libonnx-testdata"));
  }
};

class OnnxConformanceTest : public OnnxDataTest,
                            public testing::WithParamInterface<Suite> {};

class OnnxConformanceSkipListTest : public OnnxDataTest {};

TEST_P(OnnxConformanceTest, PassesButForTheSkipList) {
  const auto skipped = ParseSkipList(ReadWholeFile(SourcePath(kSkipList)));
  ASSERT_TRUE(skipped.ok()) << skipped.status();
  const std::string suite = GetParam().folder;
  Counts listed, others;
  for (const std::string& name : CasesOf(suite)) {
    const std::string folder = kData + suite + "/" + name;
    const auto model = ReadCaseModel(folder);
    ASSERT_TRUE(model.ok()) << name << ": " << model.status();
    Counts& counts = UsesListedOperatorsOnly(*model) ? listed : others;
    const absl::Status status = RunCase(folder, GetParam().simplify);
    counts.cases += 1;
    counts.passed += status.ok() ? 1 : 0;
    const bool expected = !skipped->contains(suite + "/" + name);
    if (status.ok() && !expected) {
      ADD_FAILURE() << name << " passes: take it off " << kSkipList;
    } else if (!status.ok() && expected) {
      ADD_FAILURE() << name << ": " << status.message();
    }
  }
  std::cout << suite << ", simplification "
            << (GetParam().simplify ? "on" : "off") << ": " << listed
            << " of listed operators passed, " << others << " others\n";
  EXPECT_EQ(listed, GetParam().listed);
  EXPECT_EQ(others, GetParam().others);
}

constexpr Suite kSuites[] = {
    {"Node", "node", {588, 572}, {344, 278}, false},
    {"NodeSimplified", "node", {588, 572}, {344, 278}, true},
    {"PytorchConverted", "pytorch-converted", {82, 82}, {0, 0}, false},
    {"PytorchConvertedSimplified", "pytorch-converted", {82, 82}, {0, 0}, true},
    {"PytorchOperator", "pytorch-operator", {35, 35}, {0, 0}, false},
    {"PytorchOperatorSimplified", "pytorch-operator", {35, 35}, {0, 0}, true},
    {"Simple", "simple", {6, 6}, {17, 1}, false},
    {"SimpleSimplified", "simple", {6, 6}, {17, 1}, true},
};

INSTANTIATE_TEST_SUITE_P(All, OnnxConformanceTest, testing::ValuesIn(kSuites),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

// Every line of the skip list names a case.
TEST_F(OnnxConformanceSkipListTest, NamesCasesThatExist) {
  const auto skipped = ParseSkipList(ReadWholeFile(SourcePath(kSkipList)));
  ASSERT_TRUE(skipped.ok()) << skipped.status();
  for (const auto& [name, reason] : *skipped) {
    EXPECT_TRUE(std::filesystem::exists(kData + name)) << name;
  }
}

}  // namespace
}  // namespace edgekiln::tests
