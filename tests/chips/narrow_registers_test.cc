// Chips whose registers are narrower than what layers have: a layer is left to
// the host, or cut smaller, or the descriptor or the layer is refused by name.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "target/builtin.h"
#include "target/resolve.h"
#include "tests/chips/chip_cases.h"
#include "tests/chips/expect_bit_exact.h"
#include "tests/pipeline/chip_run.h"
#include "tests/support/user_error.h"

namespace edgekiln::tests {
namespace {

using compiler::Graph;

v1::TargetDescriptor DescriptorOf(const ChipCase& chip) {
  for (const target::BuiltinTarget& builtin : target::BuiltinTargets()) {
    if (builtin.name == chip.targets[0]) {
      return *target::ParseDescriptor(builtin.text);
    }
  }
  ADD_FAILURE() << chip.name;
  return {};
}

// Calls `check` with the name of each register while it has a quarter, or an
// eighth, of its bits; those of 32 bits may hold addresses.
template <typename Check>
void ForRegisters(v1::TargetDescriptor& descriptor, const Check& check) {
  const auto each = [&](auto& registers) {
    for (auto& reg : registers) {
      const int32_t bits = reg.bits();
      if (bits == 32) continue;
      for (const int32_t part : {4, 8}) {
        reg.set_bits(bits / part);
        check(reg.name());
      }
      reg.set_bits(bits);
    }
  };
  for (v1::EngineDescriptor& engine : *descriptor.mutable_engines()) {
    if (engine.has_isa()) each(*engine.mutable_isa()->mutable_registers());
    if (engine.has_jobs()) each(*engine.mutable_jobs()->mutable_registers());
  }
}

// Everything about them is more than 4 bits hold.
Graph WideLayers(QuantizedGraphBuilder& builder) {
  WindowCase window;
  for (const int axis : {0, 1}) {
    window.kernel[axis] = 17;
    window.stride[axis] = 16;
    window.dilation[axis] = 16;
  }
  for (int32_t& pad : window.pad) pad = 255;
  compiler::TensorId x = builder.Input({1, 18, 19, 1});
  x = builder.Conv(x, 17, window, true);
  x = builder.Depthwise(x, 16, window, false);
  return builder.Finish({x});
}

class NarrowRegistersTest : public testing::TestWithParam<const ChipCase*> {};

TEST_P(NarrowRegistersTest, NothingThatDoesNotFitReachesThem) {
  int resolved = 0;
  int refused = 0;
  int compiled = 0;
  v1::TargetDescriptor edited = DescriptorOf(*GetParam());
  const auto check = [&](const std::string& name) {
    SCOPED_TRACE(name);
    std::string text;
    ASSERT_TRUE(google::protobuf::TextFormat::PrintToString(edited, &text));
    const auto target = target::ResolveTarget(text);
    if (!target.ok()) {
      EXPECT_TRUE(absl::IsInvalidArgument(target.status())) << target.status();
      ++refused;
      return;
    }
    ++resolved;
    const auto compile = [&](QuantizedGraphBuilder& builder,
                             const Graph& graph) {
      const auto result = CompileQuantized(graph, *target);
      if (!result.ok()) return ExpectUserError(result.status());
      ++compiled;
      ExpectBitExact(graph, *target, {builder.Sample()});
    };
    for (const GraphKind& kind : GetParam()->graphs) {
      QuantizedGraphBuilder builder =
          BuilderFor(*GetParam(), kind.first_seed + 1);
      compile(builder, kind.make(builder));
    }
    QuantizedGraphBuilder builder = BuilderFor(*GetParam(), 1);
    compile(builder, WideLayers(builder));
  };
  ForRegisters(edited, check);
  // A model may have all widths fixed.
  EXPECT_GT(resolved + refused, 0);
  EXPECT_TRUE(resolved == 0 || compiled > resolved);
}

INSTANTIATE_TEST_SUITE_P(Chips, NarrowRegistersTest,
                         testing::ValuesIn(AllChips()),
                         [](const auto& info) { return info.param->name; });

}  // namespace
}  // namespace edgekiln::tests
