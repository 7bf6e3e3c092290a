// ONNX's own conformance tests (Debian: libonnx-testdata) through import,
// simplification and the interpreter.

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <ostream>
#include <string>
#include <vector>

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

struct Suite {
  const char* name;
  const char* folder;
  int listed;    // Cases with listed operators only.
  int required;  // Of these must pass.
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
    if (SharedDataIsMandatory()) {
      FAIL() << "CI=true and there is no " << kData;
    }
    GTEST_SKIP() << "install libonnx-testdata";
  }
};

class OnnxConformanceTest : public OnnxDataTest,
                            public testing::WithParamInterface<Suite> {};

class OnnxConformanceSkipListTest : public OnnxDataTest {};

TEST_P(OnnxConformanceTest, PassesButForTheSkipList) {
  const auto skipped = ParseSkipList(ReadWholeFile(SourcePath(kSkipList)));
  ASSERT_TRUE(skipped.ok()) << skipped.status();
  const std::string suite = GetParam().folder;
  int listed = 0;
  int passed = 0;
  for (const std::string& name : CasesOf(suite)) {
    const std::string folder = kData + suite + "/" + name;
    const auto model = ReadCaseModel(folder);
    ASSERT_TRUE(model.ok()) << name << ": " << model.status();
    if (!UsesListedOperatorsOnly(*model)) continue;
    ++listed;
    const absl::Status status = RunCase(folder, GetParam().simplify);
    passed += status.ok();
    const bool expected = !skipped->contains(suite + "/" + name);
    if (status.ok() && !expected) {
      ADD_FAILURE() << name << " passes: take it off " << kSkipList;
    } else if (!status.ok() && expected) {
      ADD_FAILURE() << name << ": " << status.message();
    }
  }
  std::cout << suite << ": " << passed << " of " << listed
            << " passed, simplification "
            << (GetParam().simplify ? "on" : "off") << "\n";
  EXPECT_EQ(listed, GetParam().listed);
  EXPECT_GE(passed, GetParam().required);
}

constexpr Suite kSuites[] = {
    {"Node", "node", 588, 560, false},
    {"NodeSimplified", "node", 588, 560, true},
    {"PytorchConverted", "pytorch-converted", 82, 79, false},
    {"PytorchConvertedSimplified", "pytorch-converted", 82, 79, true},
    {"PytorchOperator", "pytorch-operator", 35, 33, false},
    {"PytorchOperatorSimplified", "pytorch-operator", 35, 33, true},
    {"Simple", "simple", 6, 6, false},
    {"SimpleSimplified", "simple", 6, 6, true},
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
