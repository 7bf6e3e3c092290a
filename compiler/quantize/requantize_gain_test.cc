#include "compiler/quantize/requantize_gain.h"

#include <algorithm>
#include <string>

#include "compiler/ir/text.h"
#include "compiler/quantize/unquantize.h"
#include "gtest/gtest.h"
#include "target/builtin.h"
#include "target/resolve.h"

namespace edgekiln::compiler {
namespace {

v1::Capabilities CapabilitiesOf(const std::string& name) {
  for (const target::BuiltinTarget& builtin : target::BuiltinTargets()) {
    if (builtin.name != name) continue;
    const auto resolved = target::ResolveTarget(builtin.text);
    EXPECT_TRUE(resolved.ok()) << resolved.status();
    return resolved.ok() ? resolved->capabilities() : v1::Capabilities();
  }
  ADD_FAILURE() << "no target " << name;
  return {};
}

// One layer, with `input` and `weights` as quantizations.
std::string WhyOn(const std::string& chip, const std::string& input,
                  const std::string& weights,
                  const std::string& values = "[100, -50]") {
  const absl::StatusOr<Graph> graph =
      ParseGraph("%x : int8[1,2] " + input + " = input\n%w : int8[1,2] " +
                 weights + " = constant " + values +
                 "\n%y : int8[1,1] scale 1 zero 0 = fully_connected(%x, %w) "
                 "id fc\nreturn %y\n");
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return "";
  const auto form = Unquantize(*graph);
  EXPECT_TRUE(form.ok()) << form.status();
  if (!form.ok()) return "";
  const auto why = WhyRequantize(*graph, form->graph, CapabilitiesOf(chip));
  EXPECT_TRUE(why.ok()) << why.status();
  return why.value_or("error");
}

TEST(RequantizeGainTest, EnginesThatTakeTheIntegersKeepThem) {
  EXPECT_EQ(WhyOn("toy-shift", "scale 0.5 zero 0", "scale 0.25 zero 0"), "");
  EXPECT_EQ(WhyOn("dla-64-o-512k", "scale 0.3 zero 7", "scale 0.7 zero 0"), "");
  EXPECT_EQ(
      WhyOn("toy-int4", "scale 0.3 zero 0", "scale 0.7 zero 0", "[7, -8]"), "");
}

TEST(RequantizeGainTest, SaysWhatTheLargestLayerLacks) {
  EXPECT_EQ(WhyOn("toy-shift", "scale 0.5 zero 7", "scale 0.25 zero 0"),
            "shifter needs tensors with zero point 0");
  EXPECT_EQ(WhyOn("toy-shift", "scale 0.3 zero 0", "scale 0.7 zero 0"),
            "shifter needs scales whose ratio is a power of two");
  EXPECT_EQ(WhyOn("toy-int4", "scale 0.3 zero 0", "scale 0.7 zero 0"),
            "array needs weights from -8 to 7");
}

// Ternary weights are made only if asked for, and kept where they are.
TEST(RequantizeGainTest, WhatWouldStayOnTheHostIsNoGain) {
  EXPECT_EQ(WhyOn("toy-ternary", "scale 0.3 zero 0", "scale 0.7 zero 0"), "");
  EXPECT_EQ(WhyOn("toy-ternary", "scale 0.3 zero 0", "scale 0.7 zero 0",
                  "[100, -100]"),
            "ternary needs rounding down");
  v1::Capabilities ternary = CapabilitiesOf("toy-int4");
  for (auto& engine : *ternary.mutable_engines()) {
    for (v1::OpPattern& pattern : *engine.mutable_patterns()) {
      if (pattern.numerics().weight_values() != v1::WEIGHTS_INT4) continue;
      pattern.mutable_numerics()->set_weight_values(v1::WEIGHTS_TERNARY);
    }
  }
  const absl::StatusOr<Graph> graph = ParseGraph(R"(
%x : int8[1,2] scale 0.3 zero 0 = input
%w : int8[1,2] scale 0.7 zero 0 = constant [100, -50]
%y : int8[1,1] scale 1 zero 0 = fully_connected(%x, %w) id fc
return %y
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto form = Unquantize(*graph);
  ASSERT_TRUE(form.ok()) << form.status();
  const auto why = WhyRequantize(*graph, form->graph, ternary);
  ASSERT_TRUE(why.ok()) << why.status();
  EXPECT_EQ(*why, "");
  const auto macs = MacsOnEngines(*graph, ternary);
  ASSERT_TRUE(macs.ok()) << macs.status();
  EXPECT_EQ(macs->all, 2);
  EXPECT_EQ(macs->on_engines, 0);
}

}  // namespace
}  // namespace edgekiln::compiler
