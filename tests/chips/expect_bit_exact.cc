#include "tests/chips/expect_bit_exact.h"

#include <cstdint>

#include "gtest/gtest.h"
#include "tests/pipeline/chip_run.h"

namespace edgekiln::tests {

void ExpectBitExact(const compiler::Graph& graph,
                    const v1::ResolvedTarget& target,
                    const std::vector<std::string>& samples) {
  const auto compiled = CompileQuantized(graph, target);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const auto result = CompareWithInterpreter(graph, target, *compiled, samples);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GT(result->compared, 0);
  EXPECT_EQ(result->mismatches, 0) << result->first_mismatch;
  EXPECT_EQ(result->uncovered, 0);
  EXPECT_EQ(result->report.cycles(), compiled->program.predicted_cycles());
  int64_t cycles = 0;
  for (const auto& layer : result->report.layers()) {
    EXPECT_EQ(layer.cycles(), layer.compute_cycles() + layer.stall_cycles());
    cycles += layer.cycles();
  }
  EXPECT_EQ(cycles, result->report.cycles());
}

}  // namespace edgekiln::tests
