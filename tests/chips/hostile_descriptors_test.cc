// Descriptors that mean harm, on a chip whose engine the host drives: refused
// by name, or compiled and counted, soon and in little memory.

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/error.h"
#include "compiler/ir/graph.h"
#include "gtest/gtest.h"
#include "simfarm/session/session.h"
#include "target/builtin.h"
#include "target/resolve.h"
#include "tests/chips/random_graphs.h"
#include "tests/pipeline/chip_run.h"

namespace edgekiln::tests {
namespace {

struct Hostile {
  const char* name;
  // In the text of toy-array, wherever it occurs.
  std::vector<std::pair<std::string, std::string>> replace;
  const char* refusal;  // Part of the error; "": it compiles, and is counted.
};

void PrintTo(const Hostile& hostile, std::ostream* out) {
  *out << hostile.name;
}

std::string TextOf(const Hostile& hostile) {
  std::string text;
  for (const target::BuiltinTarget& each : target::BuiltinTargets()) {
    if (each.name == "toy-array") text = each.text;
  }
  for (const auto& [from, to] : hostile.replace) {
    EXPECT_TRUE(absl::StrContains(text, from)) << from;
    text = absl::StrReplaceAll(text, {{from, to}});
  }
  return text;
}

// Resolves, compiles and counts cycles, as a job would.
absl::Status StatusOf(const std::string& descriptor) {
  const auto target = target::ResolveTarget(descriptor);
  if (!target.ok()) return target.status();
  QuantizedGraphBuilder builder(5003);
  const compiler::Graph graph = RandomResidualNet(builder);
  const auto compiled = CompileQuantized(graph, *target);
  if (!compiled.ok()) return compiled.status();
  return simfarm::CountCycles(compiled->program, target->machine(),
                              OptionsOf(graph))
      .status();
}

const std::vector<Hostile>& AllHostile() {
  static const auto* all = new std::vector<Hostile>{
      {"Unchanged", {}, ""},
      {"MemoryOfAllAddresses",
       {{"capacity_bytes_expr: \"tile_bytes\"",
         "capacity_bytes_expr: \"4294967296\""}},
       ""},
      {"MemoryOfOneByte",
       {{"capacity_bytes_expr: \"tile_bytes\"", "capacity_bytes_expr: \"1\""}},
       "does not fit"},
      {"MemoryOf2To40",
       {{"capacity_bytes_expr: \"tile_bytes\"",
         "capacity_bytes_expr: \"1099511627776\""}},
       "out of range"},
      {"LongJobs",
       {{"occupancy_cycles_expr: \"fill_cycles",
         "occupancy_cycles_expr: \"4611686018427387904"}},
       "occupancy_cycles_expr"},
      {"JobsAtTheLimit",
       {{"occupancy_cycles_expr: \"fill_cycles",
         "occupancy_cycles_expr: \"900000000000"}},
       ""},
      {"NegativeJobs",
       {{"occupancy_cycles_expr: \"fill_cycles",
         "occupancy_cycles_expr: \"-1000000000"}},
       "occupancy_cycles_expr gives -"},
      {"SumsInJobs",
       {{"occupancy_cycles_expr: \"fill_cycles",
         "occupancy_cycles_expr: \"sum(i, 0, 2000, i)"}},
       ""},
      {"SlowLinks",
       {{"setup_cycles_expr: \"link_setup_cycles\"",
         "setup_cycles_expr: \"1000000000000\""}},
       ""},
      {"HugeBlocks",
       {{"* block\"", "* 1000000000\""},
        {"modulo_expr: \"block\"", "modulo_expr: \"1000000000\""},
        {"divide_expr: \"block\"", "divide_expr: \"1000000000\""}},
       "operand"},
      {"BlocksOf2To62",
       {{"* block\"", "* 4611686018427387904\""}},
       "job CONVOLUTION, operand in, stride_bytes_expr"},
      {"BlocksOfNothing",
       {{"ceildiv(in_c, block)", "ceildiv(in_c, block - block)"}},
       "job CONVOLUTION, operand in, size_bytes_expr"},
      {"RegistersTwice",
       {{"offset: 0x08 bits", "offset: 0x04 bits"}},
       "already used by a register"},
      {"OneBitChannels",
       {{"offset: 0x0c bits: 16", "offset: 0x0c bits: 1"}},
       ""},
      {"ThreeBitChannels",
       {{"offset: 0x10 bits: 16", "offset: 0x10 bits: 3"}},
       ""},
  };
  return *all;
}

class HostileDescriptorsTest : public testing::TestWithParam<Hostile> {};

TEST_P(HostileDescriptorsTest, AreRefusedByNameOrCompiled) {
  const absl::Status status = StatusOf(TextOf(GetParam()));
  if (*GetParam().refusal == '\0') {
    EXPECT_TRUE(status.ok()) << status;
    return;
  }
  ASSERT_FALSE(status.ok());
  EXPECT_TRUE(absl::StrContains(status.ToString(), GetParam().refusal))
      << status;
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  ASSERT_TRUE(detail.has_value()) << status;
  EXPECT_EQ(detail->fault, Fault::kUser);
  EXPECT_NE(detail->where, "");
}

INSTANTIATE_TEST_SUITE_P(All, HostileDescriptorsTest,
                         testing::ValuesIn(AllHostile()), [](const auto& info) {
                           return std::string(info.param.name);
                         });

// The cycles of all its tiles exceed 64 bits if they are small.
TEST(LongPlansTest, SlowLinksOfLargeLayersAreCountedOrRefused) {
  Hostile hostile = {"SlowLinks",
                     {{"setup_cycles_expr: \"link_setup_cycles\"",
                       "setup_cycles_expr: \"1000000000000\""}},
                     ""};
  const auto compile = [&]() -> absl::Status {
    const auto target = target::ResolveTarget(TextOf(hostile));
    if (!target.ok()) return target.status();
    QuantizedGraphBuilder builder(1);
    WindowCase window;
    window.kernel[0] = window.kernel[1] = 3;
    const compiler::Graph graph = builder.Finish(
        {builder.Conv(builder.Input({1, 512, 512, 16}), 64, window, false)});
    return CompileQuantized(graph, *target).status();
  };
  const absl::Status counted = compile();
  EXPECT_TRUE(counted.ok()) << counted;
  // So little memory that all tilings that fit are long.
  hostile.replace.push_back(
      {"capacity_bytes_expr: \"tile_bytes\"", "capacity_bytes_expr: \"2560\""});
  const absl::Status refused = compile();
  const std::optional<ErrorDetail> detail = GetErrorDetail(refused);
  ASSERT_TRUE(detail.has_value()) << refused;
  EXPECT_EQ(detail->reason, "PLAN_TOO_LONG") << refused;
  EXPECT_NE(detail->limit, "");
  EXPECT_NE(detail->fix, "");
  EXPECT_TRUE(absl::StrContains(refused.message(), "op0")) << refused;
}

}  // namespace
}  // namespace edgekiln::tests
