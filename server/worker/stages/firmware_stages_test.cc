// What count_cycles and simulate stages say of firmware, whose cycles depend on
// data.

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "base/error.h"
#include "compiler/ir/text.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "server/worker/stages/graph_input.h"
#include "server/worker/stages/stages.h"
#include "simfarm/session/testing/test_firmware.h"
#include "tests/support/skip.h"

namespace edgekiln::server {
namespace {

constexpr char kGraph[] = R"(
%x : int8[2,2] scale 0.5 zero 3 = input
%t : int8[2,2] scale 0.5 zero 3 = transpose(%x) {permutation [1, 0]} id t
%y : int8[4] scale 0.5 zero 3 = reshape(%t) id r
return %y
)";

// Two more instructions for each unit of the first value.
constexpr char kNetwork[] = R"(
#line 2 "./net.c"
#include <stdint.h>
__attribute__((section(".arena"))) struct { int8_t x[4], y[4]; } mem;
__attribute__((noinline)) void net_t(void) {
  int n = mem.x[0];
  __asm__ volatile("1: addi %0, %0, -1\n bgtz %0, 1b" : "+r"(n));
  for (int i = 0; i < 4; ++i) mem.y[i] = mem.x[i / 2 + i % 2 * 2];
}
void net_setup(void) {}
int net_invoke(void) {
  net_t();
  return mem.x[3] == 99 ? 1 : 0;
}
)";

constexpr char kProgram[] = R"(
version: 3
inputs { type { name: "x" element_type: INT8 shape: [2, 2]
                quantization { scale: 0.5 zero_point: 3 } }
         location { memory: 1 address: 0x80001000 } }
outputs { type { name: "y" element_type: INT8 shape: 4
                 quantization { scale: 0.5 zero_point: 3 } }
          location { memory: 1 address: 0x80001004 } layout: 1 }
layers { id: "t" } layers { id: "r" }
taps { stream: -1 step: 0 tensor: 1 box { begin: [0, 0] end: [2, 2] }
       location { memory: 1 address: 0x80001004 } }
taps { stream: -1 step: 0 tensor: 2 box { begin: 0 end: 4 }
       location { memory: 1 address: 0x80001004 } layout: 1 }
layouts { extents: [2, 2] element_bits: 8 size_bytes: 4
          terms { axis: 0 stride_bytes: 2 } terms { axis: 1 stride_bytes: 1 } }
layouts { extents: 4 element_bits: 8 size_bytes: 4
          terms { axis: 0 stride_bytes: 1 } }
firmware { processor: RV32IM run: "ek_run" stack_bytes: 1024
           functions: "net_t" functions: "" }
)";

class FirmwareStagesTest : public testing::Test {
 protected:
  void SetUp() override {
    namespace firmware = simfarm::firmware;
    if (!firmware::HasCompiler()) EK_SKIP(firmware::kNoCompiler);
    static const auto* const elf = new absl::StatusOr<std::string>(
        firmware::Build(kNetwork, /*debug_info=*/true));
    ASSERT_TRUE(elf->ok()) << elf->status();
    elf_ = **elf;
    const auto graph = compiler::ParseGraph(kGraph);
    ASSERT_TRUE(graph.ok()) << graph.status();
    graph_ = compiler::GraphToProto(*graph).SerializeAsString();
    v1::Program program;
    ASSERT_TRUE(
        google::protobuf::TextFormat::ParseFromString(kProgram, &program));
    program_ = program.SerializeAsString();
    machine_ = firmware::Machine().SerializeAsString();
    SetSamples("\x15\x02\x03\x04\x01\x02\x03\x04\x0b\x02\x03\x04");
  }

  // Of four values each.
  void SetSamples(const std::string& samples) {
    const auto graph = compiler::ParseGraph(kGraph);
    v1::Chunk chunk;
    chunk.set_samples(static_cast<int64_t>(samples.size()) / 4);
    v1::Chunk::Array& array = *chunk.add_arrays();
    *array.mutable_type() = TypeOf(graph->tensors[graph->inputs[0]]);
    array.set_data(samples);
    chunk_ = chunk.SerializeAsString();
  }

  StageInputs Inputs(bool chunk) {
    StageInputs inputs;
    inputs.Add("program", program_);
    inputs.Add("constants", elf_);
    inputs.Add("machine", machine_);
    inputs.Add("graph", graph_);
    if (chunk) inputs.Add("chunk", chunk_);
    return inputs;
  }

  static absl::StatusOr<StageOutput> Simulate(const StageInputs& inputs) {
    v1::SimulateOptions options;
    options.set_compare_layers(true);
    return RunSimulate(options, inputs, [](const v1::StageProgress&) {});
  }

  std::string elf_, program_, machine_, graph_, chunk_;
};

TEST_F(FirmwareStagesTest, CyclesAreThoseOfTheFirstSample) {
  v1::CountCyclesOptions options;
  options.set_timing_only(true);  // Firmware runs all the same.
  options.set_timeline(true);
  const auto zeros = RunCountCycles(options, Inputs(/*chunk=*/false));
  ASSERT_TRUE(zeros.ok()) << zeros.status();
  const auto sample = RunCountCycles(options, Inputs(/*chunk=*/true));
  ASSERT_TRUE(sample.ok()) << sample.status();
  const v1::SimReport& report = sample->summary.sim_report();
  EXPECT_GT(report.setup_instructions(), 0);
  EXPECT_EQ(report.cycles(), report.instructions());
  ASSERT_EQ(sample->blobs.size(), 2u);
  EXPECT_EQ(sample->blobs[0].first, "timeline");
  // Zero is 3, the sample begins with 21.
  EXPECT_EQ(report.cycles() - zeros->summary.sim_report().cycles(),
            2 * (21 - 3));
}

TEST_F(FirmwareStagesTest, HotSpotsAreThoseOfTheFirstSample) {
  v1::CountCyclesOptions options;
  options.set_hot_spots(true);
  // Where the source text is to be looked up.
  EXPECT_FALSE(RunCountCycles(options, Inputs(/*chunk=*/true)).ok());
  v1::CSourceTree tree;
  tree.add_files()->set_path("net.c");
  tree.mutable_files(0)->set_text(kNetwork);
  const std::string sources = tree.SerializeAsString();
  StageInputs inputs = Inputs(/*chunk=*/true);
  inputs.Add("c_sources", absl::string_view(sources));
  const auto output = RunCountCycles(options, inputs);
  ASSERT_TRUE(output.ok()) << output.status();
  const v1::SimReport& report = output->summary.sim_report();
  EXPECT_EQ(report.hot_spots().instructions(), report.instructions());
  EXPECT_EQ(report.hot_spots().cycles(), report.cycles());
  ASSERT_GT(report.hot_spots().functions_size(), 0);
  EXPECT_EQ(report.hot_spots().functions(0).name(), "net_t");
  EXPECT_EQ(report.hot_spots().functions(0).file(), "net.c");
  EXPECT_EQ(report.hot_spots().functions(0).layer(), 0);
  bool has_text = false;
  for (const v1::HotSpots::Line& line : report.hot_spots().lines()) {
    has_text = has_text || absl::StartsWith(line.text(), "__asm__ volatile");
  }
  EXPECT_TRUE(has_text) << report.hot_spots().DebugString();
  // What else is told is as without.
  options.set_hot_spots(false);
  const auto plain = RunCountCycles(options, inputs);
  ASSERT_TRUE(plain.ok()) << plain.status();
  v1::SimReport without = report;
  without.clear_hot_spots();
  EXPECT_EQ(without.SerializeAsString(),
            plain->summary.sim_report().SerializeAsString());
}

// ELF files come from other machines: a damaged line table is an error.
TEST_F(FirmwareStagesTest, ADamagedLineTableIsAnError) {
  v1::CountCyclesOptions options;
  options.set_hot_spots(true);
  const size_t names = elf_.rfind(".debug_line");
  ASSERT_NE(names, std::string::npos);
  for (const size_t cut : {names, elf_.size() - 100}) {
    const std::string whole = elf_;
    elf_.resize(cut);
    StageInputs inputs = Inputs(/*chunk=*/true);
    const std::string no_sources;
    inputs.Add("c_sources", absl::string_view(no_sources));
    EXPECT_FALSE(RunCountCycles(options, inputs).ok());
    elf_ = whole;
  }
}

TEST_F(FirmwareStagesTest, SamplesAreComparedAndTheirCyclesCounted) {
  const auto output = Simulate(Inputs(/*chunk=*/true));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_TRUE(output->warnings.empty()) << output->warnings[0];
  const v1::StageSummary::Samples& samples = output->summary.samples();
  EXPECT_EQ(samples.mismatches(), 0) << samples.first_mismatch();
  EXPECT_EQ(samples.outputs_compared(), 3 * 4 * 3);
  EXPECT_EQ(samples.cycles_max() - samples.cycles_min(), 2 * (21 - 1));
  v1::CountCyclesOptions options;
  const auto counted = RunCountCycles(options, Inputs(/*chunk=*/true));
  ASSERT_TRUE(counted.ok()) << counted.status();
  EXPECT_EQ(samples.cycles_max(), counted->summary.sim_report().cycles());
}

TEST_F(FirmwareStagesTest, AWrongLayerIsFound) {
  // As if the layer gave its input.
  v1::Program program;
  ASSERT_TRUE(program.ParseFromString(program_));
  program.mutable_taps(0)->mutable_location()->set_address(0x80001000);
  program_ = program.SerializeAsString();
  const auto output = Simulate(Inputs(/*chunk=*/true));
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(output->summary.samples().mismatches(), 6);
  EXPECT_TRUE(absl::StrContains(output->summary.samples().first_mismatch(),
                                "layer t, sample 0"))
      << output->summary.samples().first_mismatch();
}

// With kernels of the target's own, if a layer calls one.
TEST_F(FirmwareStagesTest, FaultsAreTheTargetsOnlyWithFunctionsOfItsOwn) {
  v1::Program program;
  ASSERT_TRUE(program.ParseFromString(program_));
  // An output that nothing writes.
  program.mutable_outputs(0)->mutable_location()->set_address(0x80001010);
  program_ = program.SerializeAsString();
  const struct {
    const char* function;
    Fault fault;
  } kCases[] = {{"", Fault::kInfra},
                {"not_called", Fault::kInfra},
                {"net_t", Fault::kUser}};
  for (const auto& each : kCases) {
    v1::Machine machine = simfarm::firmware::Machine();
    if (each.function[0] != '\0') {
      machine.mutable_firmware()->add_kernels()->mutable_call()->set_function(
          each.function);
    }
    machine_ = machine.SerializeAsString();
    const auto output = RunCountCycles({}, Inputs(/*chunk=*/true));
    const auto detail = GetErrorDetail(output.status());
    ASSERT_TRUE(detail.has_value()) << output.status();
    EXPECT_EQ(detail->fault, each.fault) << each.function << detail->what;
  }
}

// The user's error, others are ours.
TEST_F(FirmwareStagesTest, AnIndexOutOfRangeIsTheUsersError) {
  SetSamples("\x01\x02\x03\x63");
  const absl::Status status =
      RunCountCycles({}, Inputs(/*chunk=*/true)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  SetSamples("\x01\x02\x03");
  EXPECT_FALSE(RunCountCycles({}, Inputs(/*chunk=*/true)).ok());
  elf_.clear();
  EXPECT_EQ(RunCountCycles({}, Inputs(/*chunk=*/false)).status().code(),
            absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace edgekiln::server
