// Any chip that the descriptor's limits allow, not just the presets: a network
// either fits, and then every layer output equals the interpreter's, or the
// error names a size.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/rng.h"
#include "gtest/gtest.h"
#include "target/resolve.h"
#include "tests/dla/graph_builder.h"
#include "tests/dla/pipeline.h"
#include "tests/pipeline/compiler_run.h"
#include "tests/support/shared_data.h"
#include "tests/support/user_error.h"

namespace edgekiln::tests {
namespace {

constexpr int kChips = 24;

template <typename Value>
Value OneOf(Rng& rng, const std::vector<Value>& values) {
  return values.at(rng.InRange(0, static_cast<int64_t>(values.size()) - 1));
}

std::string RandomChip(Rng& rng) {
  const std::vector<std::pair<std::string, int64_t>> settings = {
      {"pes", OneOf<int64_t>(rng, {1, 3, 16, 63, 64, 96, 128, 1024})},
      {"output_parallel", rng.InRange(0, 1)},
      {"sram_bytes",
       OneOf<int64_t>(rng, {3000, 8192, 20'001, 65'536, 200'000, 1 << 20})},
      {"dma_bytes_per_cycle", OneOf<int64_t>(rng, {1, 3, 16, 1024})},
      {"dma_setup_cycles", OneOf<int64_t>(rng, {0, 20, 5000})},
      {"fill_cycles", OneOf<int64_t>(rng, {0, 8, 1000})},
      {"queue_depth", OneOf<int64_t>(rng, {1, 2, 4, 64})},
      {"register_write_cycles", OneOf<int64_t>(rng, {1, 50})},
      {"decode_cycles", OneOf<int64_t>(rng, {1, 4, 200})},
      {"host_clock_hz", OneOf<int64_t>(rng, {1'000'000, 333'333'333})},
      {"ram_bytes", OneOf<int64_t>(rng, {2000, 40'000, 64 << 20})},
      {"flash_bytes", OneOf<int64_t>(rng, {20'000, 700'000, 64 << 20})}};
  std::string text = "extends: \"dla\"\n";
  for (const auto& [name, value] : settings) {
    absl::StrAppend(&text, "set { name: \"", name, "\" value: ", value, " }\n");
  }
  return text;
}

class RandomChipsTest : public testing::TestWithParam<const char*> {};

TEST_P(RandomChipsTest, FitsExactlyOrNamesASize) {
  const std::string file = absl::StrCat("models/", GetParam(), ".tflite");
  EK_REQUIRE_SHARED(file);
  const auto graph = SimplifiedGraph(ReadWholeFile(SharedPath(file)));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const compiler::Tensor& input = graph->tensors[graph->inputs[0]];
  Rng rng(5);
  std::vector<std::string> samples(2);
  for (std::string& sample : samples) {
    for (int64_t i = 0; i < input.num_elements(); ++i) {
      sample += static_cast<char>(rng.InRange(-128, 127));
    }
  }
  int fitting = 0;
  int refused = 0;
  for (int i = 0; i < kChips; ++i) {
    const std::string chip = RandomChip(rng);
    SCOPED_TRACE(chip);
    const auto target = target::ResolveTarget(chip);
    ASSERT_TRUE(target.ok()) << target.status();
    const auto compiled = CompileQuantized(*graph, *target);
    if (!compiled.ok()) {
      const auto detail = GetErrorDetail(compiled.status());
      ASSERT_TRUE(detail.has_value()) << compiled.status();
      EXPECT_EQ(detail->fault, Fault::kUser);
      EXPECT_NE(detail->limit.find("bytes"), std::string::npos)
          << compiled.status();
      EXPECT_NE(detail->need.find("bytes"), std::string::npos)
          << compiled.status();
      ++refused;
      continue;
    }
    const auto result =
        CompareWithInterpreter(*graph, *target, *compiled, samples);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->mismatches, 0) << result->first_mismatch;
    EXPECT_EQ(result->uncovered, 0);
    EXPECT_GT(result->compared, 0);
    // The compiler knows what its program takes.
    EXPECT_EQ(compiled->program.predicted_cycles(), result->report.cycles());
    ++fitting;
  }
  // Both happen, else this test has lost its point.
  EXPECT_GT(fitting, 2);
  EXPECT_GT(refused, 2);
}

// Networks of small layers between reshapes to any shape, on any chip.
TEST(RandomChipsReshapeTest, FitsExactlyOrNamesASize) {
  Rng rng(6);
  int fitting = 0;
  int with_batch = 0;
  for (int i = 0; i < kChips * 4; ++i) {
    QuantizedGraphBuilder builder(static_cast<uint64_t>(7000 + i));
    const compiler::Graph graph = RandomReshapeNet(builder);
    const std::string chip = RandomChip(rng);
    SCOPED_TRACE(absl::StrCat("network ", i, " on ", chip));
    const auto target = target::ResolveTarget(chip);
    ASSERT_TRUE(target.ok()) << target.status();
    const auto compiled = CompileQuantized(graph, *target);
    if (!compiled.ok()) {
      ExpectUserError(compiled.status());
      continue;
    }
    const auto result =
        CompareWithInterpreter(graph, *target, *compiled, {builder.Sample()});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->mismatches, 0) << result->first_mismatch;
    EXPECT_EQ(result->uncovered, 0);
    EXPECT_EQ(compiled->program.predicted_cycles(), result->report.cycles());
    ++fitting;
    for (const compiler::Tensor& tensor : graph.tensors) {
      if (tensor.shape.size() != 4 || tensor.shape[0] == 1) continue;
      ++with_batch;
      break;
    }
  }
  EXPECT_GT(fitting, kChips);
  EXPECT_GT(with_batch, 10);
}

INSTANTIATE_TEST_SUITE_P(Networks, RandomChipsTest,
                         testing::Values("resnet8_int8", "dscnn_int8",
                                         "ad_int8", "person_detect_int8"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace edgekiln::tests
