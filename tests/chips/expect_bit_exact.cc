#include "tests/chips/expect_bit_exact.h"

#include <algorithm>
#include <cstdint>

#include "gtest/gtest.h"
#include "target/memories.h"
#include "tests/pipeline/chip_run.h"

namespace edgekiln::tests {
namespace {

// Every tensor lies inside its memory; in RAM, two that live at one time share
// no byte.
void ExpectTensorsApart(const v1::Program& program,
                        const v1::Machine& machine) {
  EXPECT_GT(program.tensors_size(), 0);
  for (const v1::TensorUse& a : program.tensors()) {
    EXPECT_LE(a.first_layer(), a.last_layer()) << a.name();
    EXPECT_LT(a.last_layer(), program.layers_size()) << a.name();
    EXPECT_LE(a.first_step(), a.last_step()) << a.name();
    EXPECT_LT(a.last_step(),
              std::max(program.steps_size(), program.layers_size()))
        << a.name();
    const auto memory =
        std::find_if(machine.memories().begin(), machine.memories().end(),
                     [&](const auto& m) { return m.name() == a.memory(); });
    ASSERT_NE(memory, machine.memories().end()) << a.memory();
    EXPECT_GE(a.address(), memory->base_address());
    EXPECT_LE(
        a.address() - memory->base_address() + static_cast<uint64_t>(a.bytes()),
        static_cast<uint64_t>(memory->capacity_bytes()));
    if (!memory->host_reaches() || !target::IsWritable(*memory)) continue;
    for (const v1::TensorUse& b : program.tensors()) {
      if (&a == &b || a.memory() != b.memory()) continue;
      // Layers of one launch have the same steps, and are done in their order.
      const bool at_one_time = a.first_step() <= b.last_step() &&
                               b.first_step() <= a.last_step() &&
                               a.first_layer() <= b.last_layer() &&
                               b.first_layer() <= a.last_layer();
      EXPECT_FALSE(at_one_time && a.address() < b.address() + b.bytes() &&
                   b.address() < a.address() + a.bytes())
          << a.ShortDebugString() << " and " << b.ShortDebugString();
    }
  }
}

}  // namespace

void ExpectBitExact(const compiler::Graph& graph,
                    const v1::ResolvedTarget& target,
                    const std::vector<std::string>& samples,
                    const v1::TileRecipe& recipe) {
  const auto compiled = CompileQuantized(graph, target, recipe);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const auto result = CompareWithInterpreter(graph, target, *compiled, samples);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GT(result->compared, 0);
  EXPECT_EQ(result->mismatches, 0) << result->first_mismatch;
  EXPECT_EQ(result->uncovered, 0);
  EXPECT_EQ(result->report.cycles(), compiled->program.predicted_cycles());
  int64_t cycles = 0;
  for (const auto& layer : result->report.layers()) {
    EXPECT_EQ(layer.cycles(),
              compiled->program.layers(layer.layer()).predicted_cycles());
    EXPECT_EQ(layer.cycles(), layer.compute_cycles() + layer.stall_cycles());
    cycles += layer.cycles();
  }
  EXPECT_EQ(cycles, result->report.cycles());
  ExpectTensorsApart(compiled->program, target.machine());
}

}  // namespace edgekiln::tests
