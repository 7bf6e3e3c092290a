// Makes docs/onnx_coverage.md from the converters, the list of the standard's
// operators, the conformance tests and their skip list.

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/onnx_import.h"
#include "gtest/gtest.h"
#include "target/builtin.h"
#include "target/resolve.h"
#include "tests/conformance_onnx/conformance_case.h"
#include "tests/conformance_onnx/operator_list.h"
#include "tests/conformance_onnx/skip_list.h"
#include "tests/support/golden.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

constexpr char kNodeCases[] = "/usr/share/libonnx-testdata/data/node/";

constexpr char kHead[] =
    R"(# ONNX operators

Made by `tests/conformance_onnx/coverage_test.cc` (`EK_UPDATE_GOLDENS=1`), which
keeps it up to date. Do not edit.

Models of op sets $MIN to $MAX are read, with the operators of the default domain
(`ai.onnx`) below, of `com.microsoft` those at the end, and functions that the
model itself defines. *From* is the oldest op set whose form of the operator is
read. *Node cases* are ONNX's own conformance tests that hold the operator:
those that pass, through import and interpreter with and without
simplification, and all of them. *Engine* says that some target has an engine
for all that the operator computes, given int8, constant weights and a shape
that fits; such an op takes clips, biases and paddings next to it along, and
constant scales and normalizations are folded into its weights. Everything else
is computed by the host. *Import* says that nothing is left at run time.

What is called constant here must be known at import: a constant, arithmetic on
constants and static shapes, or an input fixed with `--bind-input`. Types are
float16, float32, float64, bool, integers of 8 to 64 bits, and int4 and uint4
of constants. What each operator computes is `numerics.md`.

| operator | from | runs on | node cases | limits |
|---|---|---|---|---|
)";

constexpr char kNotRead[] = R"(
Not read; the import names the node:

| operator | since | node cases | why |
|---|---|---|---|
)";

struct Cases {
  int all = 0;
  int passed = 0;
  // Kinds of ops that each case of the operator alone becomes.
  std::vector<std::set<std::string>> ir;
};

void CollectOperators(const onnx::GraphProto& graph,
                      std::set<std::string>& names) {
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.domain().empty() || node.domain() == "ai.onnx") {
      names.insert(node.op_type());
    }
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) CollectOperators(attribute.g(), names);
    }
  }
}

std::map<std::string, Cases> CountCases(
    const std::map<std::string, std::string>& skipped) {
  std::vector<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(kNodeCases)) {
    folders.push_back(entry.path().filename());
  }
  std::sort(folders.begin(), folders.end());
  std::map<std::string, Cases> cases;
  for (const std::string& name : folders) {
    const auto model = ReadCaseModel(kNodeCases + name);
    EXPECT_TRUE(model.ok()) << name << ": " << model.status();
    if (!model.ok()) continue;
    std::set<std::string> operators;
    CollectOperators(model->graph(), operators);
    const bool passes = !skipped.contains("node/" + name);
    for (const std::string& op : operators) {
      cases[op].all += 1;
      cases[op].passed += passes ? 1 : 0;
    }
    if (!passes || operators.size() != 1) continue;
    const auto kinds = CaseOpKinds(kNodeCases + name);
    EXPECT_TRUE(kinds.ok()) << name << ": " << kinds.status();
    if (kinds.ok()) cases[*operators.begin()].ir.push_back(*kinds);
  }
  return cases;
}

// Kinds of ops that an engine of some target takes.
std::set<std::string> EngineKinds() {
  std::set<std::string> kinds;
  for (const target::BuiltinTarget& builtin : target::BuiltinTargets()) {
    const auto resolved = target::ResolveTarget(builtin.text);
    EXPECT_TRUE(resolved.ok()) << builtin.name << ": " << resolved.status();
    if (!resolved.ok()) continue;
    for (const auto& engine : resolved->capabilities().engines()) {
      for (const auto& pattern : engine.patterns()) {
        kinds.insert(pattern.ops().begin(), pattern.ops().end());
      }
    }
  }
  return kinds;
}

// What engines do on the way, or what stands at their borders.
bool IsMove(const std::string& kind) {
  static const std::set<std::string> kMoves = {
      "reshape", "transpose", "broadcast_to", "pad",
      "clip",    "quantize",  "dequantize"};
  return kMoves.contains(kind);
}

std::string RunsOn(const std::vector<std::set<std::string>>& cases,
                   const std::set<std::string>& engines) {
  bool anything = false;
  for (const std::set<std::string>& kinds : cases) {
    anything = anything || !kinds.empty();
    const auto is_engine = [&](const auto& kind) {
      return engines.contains(kind);
    };
    if (std::any_of(kinds.begin(), kinds.end(), is_engine) &&
        std::all_of(kinds.begin(), kinds.end(), [&](const auto& kind) {
          return is_engine(kind) || IsMove(kind);
        })) {
      return "engine";
    }
  }
  return anything ? "host" : "import";
}

bool IsRead(const OperatorLine& line) {
  return line.name == "If" || line.name == "Loop" || line.name == "Scan" ||
         compiler::onnx_import::FindOperator("", line.name) != nullptr;
}

int FirstOpset(const OperatorLine& line) {
  const auto* entry = compiler::onnx_import::FindOperator("", line.name);
  const int first = entry == nullptr ? 1 : entry->first_opset;
  return std::max({first, line.since, compiler::kMinOnnxOpset});
}

std::string Page(const std::vector<OperatorLine>& operators,
                 std::map<std::string, Cases> cases) {
  const std::set<std::string> engines = EngineKinds();
  std::string page = absl::StrReplaceAll(
      kHead, {{"$MIN", absl::StrCat(compiler::kMinOnnxOpset)},
              {"$MAX", absl::StrCat(compiler::kMaxOnnxOpset)}});
  std::string refused = kNotRead;
  for (const OperatorLine& line : operators) {
    const Cases& count = cases[line.name];
    const std::string passed =
        count.all == 0 ? "none" : absl::StrCat(count.passed, " of ", count.all);
    if (!IsRead(line)) {
      absl::StrAppend(&refused, "| ", line.name, " | ", line.since, " | ",
                      passed, " | ", line.note, " |\n");
      continue;
    }
    absl::StrAppend(&page, "| ", line.name, " | ", FirstOpset(line), " | ",
                    count.all == 0 ? "host" : RunsOn(count.ir, engines), " | ",
                    passed, " | ", line.note.empty() ? "-" : line.note, " |\n");
  }
  absl::StrAppend(
      &page, refused, "\nOf `com.microsoft`: ",
      absl::StrReplaceAll(compiler::onnx_import::OperatorNames(
                              compiler::onnx_import::kMicrosoftDomain),
                          {{" ", ", "}}),
      ".\n\nNot read either: `ai.onnx.ml` (trees, encoders and other models "
      "that are no\nnetworks) and the training domains.\n");
  return page;
}

class OnnxCoverageTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::filesystem::exists(kNodeCases)) return;
    EK_SKIP(
        absl::StrCat("there is no ", kNodeCases, ": install libonnx-testdata"));
  }
};

TEST_F(OnnxCoverageTest, ListsEveryOperatorThatIsRead) {
  const auto operators = ParseOperatorList(
      ReadWholeFile(SourcePath("tests/conformance_onnx/operators.txt")));
  ASSERT_TRUE(operators.ok()) << operators.status();
  std::set<std::string> listed;
  for (const OperatorLine& line : *operators) {
    EXPECT_TRUE(listed.insert(line.name).second) << line.name << " twice";
    if (!IsRead(line)) {
      EXPECT_FALSE(line.note.empty()) << line.name << ": no reason";
    }
  }
  for (const absl::string_view name :
       absl::StrSplit(compiler::onnx_import::OperatorNames(""), ' ')) {
    EXPECT_TRUE(listed.contains(std::string(name))) << name;
  }
}

TEST_F(OnnxCoverageTest, PageIsUpToDate) {
  const auto operators = ParseOperatorList(
      ReadWholeFile(SourcePath("tests/conformance_onnx/operators.txt")));
  ASSERT_TRUE(operators.ok()) << operators.status();
  const auto skipped = ParseSkipList(
      ReadWholeFile(SourcePath("tests/conformance_onnx/skipped.txt")));
  ASSERT_TRUE(skipped.ok()) << skipped.status();
  ExpectMatchesGolden("docs/onnx_coverage.md",
                      Page(*operators, CountCases(*skipped)));
}

}  // namespace
}  // namespace edgekiln::tests
