// Chips whose engine adds only behind a convolution: networks through the whole
// pipeline.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "target/builtin.h"
#include "target/resolve.h"
#include "tests/chips/chip_cases.h"
#include "tests/chips/expect_bit_exact.h"
#include "tests/chips/random_graphs.h"
#include "tests/pipeline/chip_run.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;

// Random networks have weights of all values, and any factors.
bool Convolves(const v1::Capabilities::Engine& engine) {
  return absl::c_any_of(engine.patterns(), [](const v1::OpPattern& pattern) {
    const v1::Numerics& numerics = pattern.numerics();
    return pattern.ops(0) == "conv2d" &&
           numerics.weight_values() == v1::WEIGHTS_ANY &&
           numerics.requantization() != v1::Numerics::SHIFT &&
           numerics.requantization() != v1::Numerics::ADC;
  });
}

std::vector<const ChipCase*> ChipsOfOneEngine() {
  std::vector<const ChipCase*> chips;
  for (const ChipCase* chip : AllChips()) {
    const v1::ResolvedTarget target = chip->target(1 << 20);
    if (target.capabilities().engines_size() != 1) continue;
    if (Convolves(target.capabilities().engines(0))) chips.push_back(chip);
  }
  return chips;
}

// The chip without its addition, but with convolutions that take one along.
std::string ChainDescriptor(const ChipCase& chip) {
  std::string text;
  for (const target::BuiltinTarget& builtin : target::BuiltinTargets()) {
    if (builtin.name == chip.targets[0]) text = builtin.text;
  }
  const std::string conv = "  patterns {\n    ops: \"conv2d\"\n";
  const size_t at = text.find(conv);
  EXPECT_NE(at, std::string::npos);
  const size_t end = text.find("\n  patterns {", at + 1) + 1;
  const std::string chain =
      absl::StrReplaceAll(text.substr(at, end - at),
                          {{"ops: \"conv2d\"", "ops: [\"conv2d\", \"add\"]"}});
  text.insert(at, chain);
  return absl::StrReplaceAll(
      text, {{"ops: \"add\"\n", "ops: \"add\"\n    when_expr: \"0\"\n"}});
}

class ChainsTest : public testing::TestWithParam<const ChipCase*> {};

TEST_P(ChainsTest, AreBitExactAndNothingElseAdds) {
  const v1::ResolvedTarget target =
      TargetWithScratchpad(ChainDescriptor(*GetParam()), 256 << 10);
  int behind = 0;
  int host = 0;
  for (int seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    QuantizedGraphBuilder builder(9000 + static_cast<uint64_t>(seed));
    const Graph graph =
        seed % 2 == 0 ? RandomResidualNet(builder) : RandomChain(builder);
    const std::vector<std::string> samples = {builder.Sample(),
                                              builder.Sample()};
    ExpectBitExact(graph, target, samples);
    const auto compiled = CompileQuantized(graph, target);
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    std::string before;
    for (const v1::Program::Layer& layer : compiled->program.layers()) {
      if (layer.op() == "add" && layer.engine() >= 0) {
        EXPECT_EQ(before, "conv2d");
        ++behind;
      }
      host += layer.op() == "add" && layer.engine() < 0;
      before = layer.op();
    }
  }
  EXPECT_GT(behind, 5);
  EXPECT_GT(host, 0);
}

INSTANTIATE_TEST_SUITE_P(Chips, ChainsTest,
                         testing::ValuesIn(ChipsOfOneEngine()),
                         [](const auto& info) { return info.param->name; });

}  // namespace
}  // namespace edgekiln::tests
