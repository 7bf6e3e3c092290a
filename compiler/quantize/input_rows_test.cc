#include "compiler/quantize/input_rows.h"

#include <string>

#include "compiler/ir/text.h"
#include "compiler/quantize/quantize.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

TEST(InputRowsTest, InputsThatIntegersReadComeFirst) {
  const absl::StatusOr<Graph> graph = ParseGraph(R"(
%x : float32[1,2] = input
%m : float32[1,2] = input
%w : float32[1,2] = constant [1, -1]
%h : float32[1,1] = fully_connected(%x, %w) id h
%e : float32[1,2] = unary(%m) {function EXP} id e
return %h, %e
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  v1::CalibrationStatistics statistics;
  for (const char* name : {"x", "m", "h", "e"}) {
    auto& range = *statistics.add_ranges();
    range.set_tensor(name);
    range.set_min(0);
    range.set_max(2.55f);
  }
  absl::StatusOr<QuantizedNetwork> network =
      Quantize(*graph, {}, {.statistics = statistics});
  ASSERT_TRUE(network.ok()) << network.status();
  const int layers = network->report.layers_size();
  AddInputRows(*graph, network->graph, statistics, network->report);
  ASSERT_GT(network->report.layers_size(), layers);
  const v1::QuantizedLayer& x = network->report.layers(0);
  EXPECT_EQ(x.id(), "x");
  EXPECT_EQ(x.op(), "input");
  EXPECT_EQ(x.seen_high(), 2.55f);
  EXPECT_EQ(x.zero_point(), -128);
  EXPECT_NEAR(x.scale(), 0.01, 1e-6);
  EXPECT_NEAR(x.range_low(), 0, 1e-6);
  EXPECT_NEAR(x.range_high(), 2.55, 1e-5);
  EXPECT_FALSE(x.is_float());
  const int rows = network->report.layers_size();
  EXPECT_EQ(network->report.layers(rows - layers).id(), "h");
}

TEST(InputRowsTest, InputsOfFloatsHaveNone) {
  const absl::StatusOr<Graph> graph = ParseGraph(R"(
%x : float32[1,2] = input
%y : float32[1,2] = clip(%x) {clamp {min 0}} id y
return %y
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  v1::QuantizationReport report;
  report.add_layers()->set_id("y");
  AddInputRows(*graph, *graph, {}, report);
  ASSERT_EQ(report.layers_size(), 1);
  EXPECT_EQ(report.layers(0).id(), "y");
}

}  // namespace
}  // namespace edgekiln::compiler
