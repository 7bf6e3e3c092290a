// Engines side by side: a chip with two against the same chip with one of them.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/graph.h"
#include "gtest/gtest.h"
#include "simfarm/session/session.h"
#include "target/resolve.h"
#include "tests/pipeline/chip_run.h"
#include "tests/pipeline/compiler_run.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {
namespace {

constexpr char kChip[] = "extends: \"toy-two-array\"";

absl::StatusOr<v1::SimReport> ReportOf(const compiler::Graph& graph,
                                       const v1::ResolvedTarget& target) {
  EK_ASSIGN_OR_RETURN(const compiler::EmitResult compiled,
                      CompileQuantized(graph, target));
  simfarm::SessionOptions options;
  options.segments = true;
  return simfarm::CountCycles(compiled.program, target.machine(), options);
}

// What the other engine can do is left to the host.
v1::ResolvedTarget With(int engine) {
  v1::ResolvedTarget target = *target::ResolveTarget(kChip);
  target.mutable_capabilities()->mutable_engines(1 - engine)->clear_patterns();
  return target;
}

class TwoEnginesTest : public testing::TestWithParam<const char*> {
 protected:
  static std::string Path() { return absl::StrCat("models/", GetParam()); }
};

// The limit is the one that the chip was made for: 0.8 of its better engine.
TEST_P(TwoEnginesTest, AreFasterThanTheBetterOneAlone) {
  EK_REQUIRE_SHARED(Path());
  const auto graph = SimplifiedGraph(ReadWholeFile(SharedPath(Path())));
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::vector<int64_t> cycles;
  for (const v1::ResolvedTarget& target :
       {*target::ResolveTarget(kChip), With(0), With(1)}) {
    const auto report = ReportOf(*graph, target);
    ASSERT_TRUE(report.ok()) << report.status();
    cycles.push_back(report->cycles());
  }
  RecordProperty("both", absl::StrCat(cycles[0]));
  RecordProperty("a_alone", absl::StrCat(cycles[1]));
  RecordProperty("b_alone", absl::StrCat(cycles[2]));
  EXPECT_LE(cycles[0] * 10, std::min(cycles[1], cycles[2]) * 8)
      << cycles[0] << " against " << cycles[1] << " and " << cycles[2];
}

std::string Name(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '.' || c == '-'; },
      '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Networks, TwoEnginesTest,
                         testing::Values("resnet8_int8.tflite",
                                         "htvm_mobilenet_v1_0.25_96_digital"
                                         ".onnx",
                                         "person_detect_int8.tflite"),
                         Name);

// The layers that an engine works on while the other one works, too.
TEST(SideBySideTest, TheSkipConvolutionOverlapsTheMainPath) {
  EK_REQUIRE_SHARED("models/resnet8_int8.tflite");
  const auto graph =
      SimplifiedGraph(ReadWholeFile(SharedPath("models/resnet8_int8.tflite")));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto report = ReportOf(*graph, *target::ResolveTarget(kChip));
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_GE(report->engines_size(), 2);
  const auto is_skip = [&](int32_t layer) {
    const compiler::Op& op = graph->ops[layer];
    if (!op.attributes.has_conv2d()) return false;
    const std::vector<int64_t>& weights = graph->tensors[op.inputs[1]].shape;
    return weights[1] == 1 && weights[2] == 1;
  };
  int overlaps = 0;
  for (const auto& b : report->engines(1).segments()) {
    if (!is_skip(b.layer())) continue;
    for (const auto& a : report->engines(0).segments()) {
      overlaps += a.begin() < b.end() && b.begin() < a.end() &&
                  graph->ops[a.layer()].attributes.has_conv2d();
    }
  }
  EXPECT_GE(overlaps, 1);
}

}  // namespace
}  // namespace edgekiln::tests
