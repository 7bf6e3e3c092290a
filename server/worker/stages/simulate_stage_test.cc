// What a simulate stage says of programs whose accumulators are tensors.

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "compiler/codegen/compile.h"
#include "compiler/ir/text.h"
#include "compiler/partition/partition.h"
#include "compiler/partition/split_accumulators.h"
#include "gtest/gtest.h"
#include "server/worker/stages/graph_input.h"
#include "server/worker/stages/stages.h"
#include "target/builtin.h"
#include "target/resolve.h"

namespace edgekiln::server {
namespace {

// Sums of a few thousand become results of a few steps.
constexpr char kLayer[] = R"(
%x : int8[1,4] scale 0.5 zero 3 = input
%w : int8[2,4] scale 0.001 zero 0 = constant [1, 100, -100, 0, 90, 0, 3, -92]
%y : int8[1,2] scale 10 zero -7 = fully_connected(%x, %w) id f
return %y
)";

class SimulateStageTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto graph = compiler::ParseGraph(kLayer);
    ASSERT_TRUE(graph.ok()) << graph.status();
    graph_ = compiler::GraphToProto(*graph).SerializeAsString();
    const auto target =
        target::ResolveTarget(target::BuiltinTargets().front().text);
    ASSERT_TRUE(target.ok()) << target.status();
    machine_ = target->machine().SerializeAsString();
    compiler::Graph split = *graph;
    ASSERT_TRUE(compiler::SplitAccumulators(split, {0}).ok());
    const auto partition = compiler::PartitionOnHost(split);
    ASSERT_TRUE(partition.ok()) << partition.status();
    const auto plans =
        compiler::TilePartition(*partition, target->machine(), {});
    ASSERT_TRUE(plans.ok()) << plans.status();
    const auto compiled =
        compiler::EmitProgram(*partition, *plans, target->machine());
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    program_ = compiled->program;
    constants_ = compiled->constants;
    v1::Chunk chunk;
    chunk.set_samples(2);
    v1::Chunk::Array& array = *chunk.add_arrays();
    *array.mutable_type() = TypeOf(graph->tensors[graph->inputs[0]]);
    array.set_data(std::string("\x05\x80\x7f\x11\x01\x02\x03\x04", 8));
    chunk_ = chunk.SerializeAsString();
  }

  // The layer's zero point on the host, which changes both sums by the sum of
  // the weights, 1, and no result.
  void BreakTheSums() {
    for (auto& step : *program_.mutable_steps()) {
      if (!step.host_op().attributes().has_fully_connected()) continue;
      step.mutable_host_op()
          ->mutable_inputs(0)
          ->mutable_type()
          ->mutable_quantization()
          ->set_zero_point(0, 4);
    }
  }

  StageInputs Inputs() {
    program_bytes_ = program_.SerializeAsString();
    StageInputs inputs;
    inputs.Add("program", program_bytes_);
    inputs.Add("constants", constants_);
    inputs.Add("machine", machine_);
    inputs.Add("graph", graph_);
    inputs.Add("chunk", chunk_);
    return inputs;
  }

  static absl::StatusOr<StageOutput> Simulate(const StageInputs& inputs) {
    v1::SimulateOptions options;
    options.set_compare_layers(true);
    return RunSimulate(options, inputs, [](const v1::StageProgress&) {});
  }

  v1::Program program_;
  std::string program_bytes_, constants_, machine_, graph_, chunk_;
};

TEST_F(SimulateStageTest, ComparesSumsAndResults) {
  const auto output = Simulate(Inputs());
  ASSERT_TRUE(output.ok()) << output.status();
  const v1::StageSummary::Samples& samples = output->summary.samples();
  EXPECT_EQ(samples.mismatches(), 0) << samples.first_mismatch();
  // Two sums, two results, two outputs of two samples.
  EXPECT_EQ(samples.outputs_compared(), 12);
  EXPECT_TRUE(output->warnings.empty()) << output->warnings[0];
}

TEST_F(SimulateStageTest, FindsWrongSumsBehindRightResults) {
  BreakTheSums();
  const auto output = Simulate(Inputs());
  ASSERT_TRUE(output.ok()) << output.status();
  const v1::StageSummary::Samples& samples = output->summary.samples();
  EXPECT_EQ(samples.mismatches(), 4);
  EXPECT_TRUE(absl::StrContains(samples.first_mismatch(),
                                "layer f, sample 0, tensor 'y.accumulator'"))
      << samples.first_mismatch();
}

// Fingerprints are of the quantized graph, which has no sums.
TEST_F(SimulateStageTest, FindsThemWhereFingerprintsAreAtHand) {
  StageInputs reference;
  reference.Add("graph", graph_);
  reference.Add("chunk", chunk_);
  v1::InterpretOptions options;
  options.set_digest_tensors(true);
  const auto interpreted =
      RunInterpret(options, reference, [](const v1::StageProgress&) {});
  ASSERT_TRUE(interpreted.ok()) << interpreted.status();
  BreakTheSums();
  StageInputs inputs = Inputs();
  for (const auto& [role, bytes] : interpreted->blobs) {
    if (role == "digests") inputs.Add("digests", bytes);
  }
  ASSERT_TRUE(inputs.Has("digests"));
  const auto output = Simulate(inputs);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(output->summary.samples().mismatches(), 4);
}

TEST_F(SimulateStageTest, SaysThatSumsWereNotShown) {
  const int32_t tensor = program_.accumulators(0).tensor();
  auto* taps = program_.mutable_taps();
  for (int i = taps->size() - 1; i >= 0; --i) {
    if (taps->Get(i).tensor() == tensor) taps->DeleteSubrange(i, 1);
  }
  const auto output = Simulate(Inputs());
  ASSERT_TRUE(output.ok()) << output.status();
  ASSERT_EQ(output->warnings.size(), 1u);
  EXPECT_EQ(output->warnings[0],
            "layer f was not compared in full with the reference");
}

TEST_F(SimulateStageTest, SumsOfNoLayerAreOurFault) {
  program_.mutable_accumulators(0)->set_result(0);
  const auto output = Simulate(Inputs());
  EXPECT_EQ(output.status().code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(absl::StrContains(output.status().message(), "which no op gives"))
      << output.status();
}

}  // namespace
}  // namespace edgekiln::server
