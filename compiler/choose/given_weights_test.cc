#include "compiler/choose/given_weights.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/choose/planned_cycles.h"
#include "compiler/codegen/machine_backends.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/graph_outline.h"
#include "gtest/gtest.h"
#include "target/quantization_needs.h"
#include "target/resolve.h"

namespace edgekiln::compiler {
namespace {

// Makes a network of layers that either array takes, and sums that one of them
// takes: images lie in the layout of one or the other. Weights are all 0.25.
class NetworkMaker {
 public:
  TensorId Input(std::vector<int64_t> shape) {
    const TensorId input = AddTensor(std::move(shape));
    graph_.inputs = {input};
    return input;
  }

  TensorId Conv(TensorId x, int64_t channels, int64_t kernel, int64_t stride) {
    const std::vector<int64_t> in = graph_.tensors[x].shape;
    const TensorId weights = AddTensor({channels, kernel, kernel, in[3]});
    Tensor& constant = graph_.tensors[weights];
    const std::vector<float> values(constant.num_elements(), 0.25f);
    constant.data =
        ConstantData(std::string(reinterpret_cast<const char*>(values.data()),
                                 values.size() * sizeof(float)));
    v1::OpAttributes attributes;
    v1::Window2d& window = *attributes.mutable_conv2d()->mutable_window();
    window.set_stride_h(static_cast<int32_t>(stride));
    window.set_stride_w(static_cast<int32_t>(stride));
    window.set_dilation_h(1);
    window.set_dilation_w(1);
    const auto pad = static_cast<int32_t>(kernel / 2);
    window.set_pad_top(pad);
    window.set_pad_bottom(pad);
    window.set_pad_left(pad);
    window.set_pad_right(pad);
    const int64_t out = (in[1] + 2 * pad - kernel) / stride + 1;
    return AddOp(attributes, {x, weights}, {1, out, out, channels});
  }

  TensorId Sum(TensorId a, TensorId b) {
    v1::OpAttributes attributes;
    attributes.mutable_add()->mutable_clamp()->set_min(0);
    return AddOp(attributes, {a, b}, graph_.tensors[a].shape);
  }

  Graph Finish(std::vector<TensorId> outputs) && {
    graph_.outputs = std::move(outputs);
    EXPECT_TRUE(VerifyGraph(graph_).ok()) << VerifyGraph(graph_);
    return std::move(graph_);
  }

 private:
  TensorId AddTensor(std::vector<int64_t> shape) {
    const auto id = static_cast<TensorId>(graph_.tensors.size());
    Tensor& tensor = graph_.tensors.emplace_back();
    tensor.name = absl::StrCat("t", id);
    tensor.type = v1::FLOAT32;
    tensor.shape = std::move(shape);
    return id;
  }

  TensorId AddOp(v1::OpAttributes attributes, std::vector<TensorId> inputs,
                 std::vector<int64_t> shape) {
    const TensorId output = AddTensor(std::move(shape));
    Op& op = graph_.ops.emplace_back();
    op.id = absl::StrCat("op", graph_.ops.size());
    op.attributes = std::move(attributes);
    op.inputs = std::move(inputs);
    op.outputs = {output};
    return output;
  }

  Graph graph_;
};

// Of 7 large layers behind `small` small ones.
Graph Network(int small = 0) {
  NetworkMaker maker;
  const TensorId x = maker.Input({1, 32, 32, 3});
  std::vector<TensorId> outputs;
  TensorId y = x;
  for (int i = 0; i < small; ++i) y = maker.Conv(y, 16, 1, i < 3 ? 2 : 1);
  if (small > 0) outputs.push_back(y);
  const TensorId first = maker.Conv(x, 16, 3, 1);
  const TensorId a = maker.Conv(first, 32, 3, 2);
  const TensorId b = maker.Conv(a, 32, 3, 1);
  const TensorId sum = maker.Sum(b, maker.Conv(first, 32, 1, 2));
  const TensorId c = maker.Conv(sum, 64, 3, 2);
  const TensorId d = maker.Conv(c, 64, 3, 1);
  outputs.push_back(maker.Sum(d, maker.Conv(sum, 64, 1, 2)));
  return std::move(maker).Finish(std::move(outputs));
}

v1::ResolvedTarget DianaWith(int64_t l1_bytes) {
  const auto target = target::ResolveTarget(absl::StrCat(
      "extends: \"diana\" set { name: \"l1_bytes\" value: ", l1_bytes, " }"));
  EXPECT_TRUE(target.ok()) << target.status();
  return target.ok() ? *target : v1::ResolvedTarget();
}

// No plan is slower than those of either array alone, and more memory makes
// none slower.
TEST(GivenWeightsTest, PlansDecide) {
  const Graph graph = Network();
  const auto outline = GraphFromOutline(OutlineOf(graph));
  ASSERT_TRUE(outline.ok()) << outline.status();
  int64_t before = 0;
  for (const int64_t l1_bytes : {6144, 8192, 9216, 10240, 12288, 16384, 24576,
                                 32768, 36864, 65536, 262144}) {
    SCOPED_TRACE(l1_bytes);
    const v1::ResolvedTarget target = DianaWith(l1_bytes);
    ChosenChip chip = {.capabilities = target.capabilities(),
                       .machine = target.machine()};
    const v1::QuantizationNeeds needs =
        target::QuantizationNeedsOf(chip.capabilities);
    const auto layers = FormsOf(graph, {}, needs);
    ASSERT_TRUE(layers.ok()) << layers.status();
    const std::vector<int> ternary = TernaryLayers(graph, *layers);
    ASSERT_EQ(ternary.size(), 7u);
    MachineBackends backends(chip.machine);
    const auto planned = [&](const Assignment& assignment) -> int64_t {
      const auto cycles = PlannedCycles(
          *outline, needs, ConfigFor(*outline, {}, *layers, assignment), chip,
          backends, /*memo=*/nullptr);
      EXPECT_TRUE(cycles.ok() && *cycles) << cycles.status();
      return cycles.ok() ? cycles->value_or(0) : 0;
    };
    const auto chosen =
        FormsOfGivenWeights(*outline, needs, {}, chip, *layers, ternary);
    ASSERT_TRUE(chosen.ok()) << chosen.status();
    chip.recipe.set_narrowest_weights(true);
    const auto narrowest =
        FormsOfGivenWeights(*outline, needs, {}, chip, *layers, ternary);
    ASSERT_TRUE(narrowest.ok()) << narrowest.status();
    const int64_t cycles = planned(*chosen);
    EXPECT_LE(cycles, planned(*narrowest));
    EXPECT_LE(cycles, planned(Assignment(layers->size(), 0)));
    if (before > 0) {
      EXPECT_LE(cycles, before);
    }
    before = cycles;
  }
}

// Fewer plans are tried than there are layers. Of those that matter the least,
// none makes a faster plan than all on the digital array.
TEST(GivenWeightsTest, LayersThatMatterTheMostAreChangedFirst) {
  const Graph graph = Network(/*small=*/12);
  const auto outline = GraphFromOutline(OutlineOf(graph));
  ASSERT_TRUE(outline.ok()) << outline.status();
  const v1::ResolvedTarget target = DianaWith(24576);
  const ChosenChip chip = {.capabilities = target.capabilities(),
                           .machine = target.machine()};
  const v1::QuantizationNeeds needs =
      target::QuantizationNeedsOf(chip.capabilities);
  const auto layers = FormsOf(graph, {}, needs);
  ASSERT_TRUE(layers.ok()) << layers.status();
  const std::vector<int> ternary = TernaryLayers(graph, *layers);
  ASSERT_EQ(ternary.size(), 19u);
  MachineBackends backends(chip.machine);
  const auto chosen =
      FormsOfGivenWeights(*outline, needs, {}, chip, *layers, ternary);
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  const auto planned = [&](const Assignment& assignment) {
    return PlannedCycles(*outline, needs,
                         ConfigFor(*outline, {}, *layers, assignment), chip,
                         backends, /*memo=*/nullptr);
  };
  const auto cycles = planned(*chosen);
  ASSERT_TRUE(cycles.ok() && *cycles) << cycles.status();
  const auto digital = planned(Assignment(layers->size(), 0));
  ASSERT_TRUE(digital.ok() && *digital) << digital.status();
  EXPECT_LT(**cycles, **digital);
}

}  // namespace
}  // namespace edgekiln::compiler
