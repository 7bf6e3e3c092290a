// Small random graphs compute the same before and after simplification: bit for
// bit where they are int8, to float rounding where they are float.

#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/text.h"
#include "compiler/passes/pipeline.h"
#include "compiler/passes/testing/random_graph.h"
#include "compiler/passes/testing/rewrite_case.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

constexpr int kGraphs = 2000;

// The ops that no engine has: where graphs come from, they are half of all.
class Generator : public RandomGraph {
 public:
  using RandomGraph::RandomGraph;

 private:
  int32_t Axis(TensorId x) {
    return static_cast<int32_t>(Below(static_cast<int64_t>(Shape(x).size())));
  }

  void AddUnary(TensorId x) {
    static constexpr v1::Unary::Function kFunctions[] = {
        v1::Unary::ABS,     v1::Unary::NEG,        v1::Unary::SQUARE,
        v1::Unary::SIGMOID, v1::Unary::HARD_SWISH, v1::Unary::LEAKY_RELU};
    v1::OpAttributes attributes;
    attributes.mutable_unary()->set_function(kFunctions[Below(6)]);
    if (attributes.unary().function() == v1::Unary::LEAKY_RELU) {
      attributes.mutable_unary()->set_alpha(0.25f);
    }
    Emit(std::move(attributes), {x});
  }

  void AddBinaryFunction(TensorId x) {
    static constexpr v1::Binary::Function kFunctions[] = {
        v1::Binary::SUB, v1::Binary::MINIMUM, v1::Binary::MAXIMUM,
        v1::Binary::SQUARED_DIFFERENCE, v1::Binary::PRELU};
    v1::OpAttributes attributes;
    attributes.mutable_binary()->set_function(kFunctions[Below(5)]);
    TensorId other = Below(2) == 0 ? Pick() : Constant({Shape(x).back()});
    if (Below(3) == 0) other = Constant({1});
    Emit(std::move(attributes), {x, other});
  }

  void AddSlice(TensorId x) {
    v1::OpAttributes attributes;
    v1::Slice* slice = attributes.mutable_slice();
    for (const int64_t extent : Shape(x)) {
      const int64_t begin = Below(3) == 0 ? Below(extent) : 0;
      const bool backwards = Below(6) == 0;
      slice->add_begin(begin);
      slice->add_extent(backwards ? begin + 1 : extent - begin);
      slice->add_stride(backwards ? -1 : 1);
    }
    Emit(std::move(attributes), {x}, true);
  }

  void AddReduction(TensorId x) {
    v1::OpAttributes attributes;
    v1::Reduce* reduce = attributes.mutable_reduce();
    reduce->set_function(Below(2) == 0 ? v1::Reduce::MAX : v1::Reduce::MIN);
    reduce->set_keep_dims(Below(2) == 0);
    reduce->add_axes(Axis(x));
    Emit(std::move(attributes), {x}, true);
  }

  void AddGrowth(TensorId x) {
    v1::OpAttributes attributes;
    const std::vector<int64_t> shape = Shape(x);
    const int64_t kind = Below(3);
    for (const int64_t extent : shape) {
      if (kind == 0) {
        attributes.mutable_tile()->add_multiples(1 + Below(4) / 3);
      } else if (kind == 1) {
        attributes.mutable_broadcast_to()->add_shape(extent == 1 ? 1 + Below(2)
                                                                 : extent);
      } else {
        attributes.mutable_resize()->add_shape(extent * (1 + Below(4) / 3));
        attributes.mutable_resize()->set_coordinates(v1::Resize::ASYMMETRIC);
        attributes.mutable_resize()->set_nearest_rounding(v1::Resize::FLOOR);
      }
    }
    Emit(std::move(attributes), {x}, true);
  }

  void AddGather(TensorId x) {
    v1::OpAttributes attributes;
    const int32_t axis = Axis(x);
    attributes.mutable_gather()->set_axis(axis);
    Tensor indices;
    indices.type = v1::INT32;
    const int32_t index = static_cast<int32_t>(Below(Shape(x)[axis]));
    if (Below(2) == 0) indices.shape = {1};
    indices.data = ConstantData(
        std::string(reinterpret_cast<const char*>(&index), sizeof(index)));
    Emit(std::move(attributes), {x, Add(std::move(indices))}, true);
  }

  void AddRandomOp() override {
    if (Below(2) == 0) return RandomGraph::AddRandomOp();
    const TensorId x = Below(3) == 0 ? Pick() : pool_.back();
    if (Shape(x).empty() || graph_.tensors[x].num_elements() > 1000) return;
    switch (Below(6)) {
      case 0:
        return AddUnary(x);
      case 1:
        return AddBinaryFunction(x);
      case 2:
        return AddSlice(x);
      case 3:
        return AddReduction(x);
      case 4:
        return AddGrowth(x);
      default:
        return AddGather(x);
    }
  }
};

class SimplifyRandomTest : public testing::TestWithParam<bool> {};

TEST_P(SimplifyRandomTest, ComputesTheSame) {
  int64_t before = 0;
  int64_t after = 0;
  for (uint64_t seed = 1; seed <= kGraphs; ++seed) {
    const Graph graph = Generator(seed, GetParam()).Make();
    if (graph.ops.empty()) continue;
    Graph simplified = graph;
    const absl::Status status = Simplify(simplified);
    ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status << "\n"
                             << PrintGraph(graph);
    before += static_cast<int64_t>(graph.ops.size());
    after += static_cast<int64_t>(simplified.ops.size());
    ExpectSameOutputs(graph, simplified, seed);
    if (HasFailure()) {
      FAIL() << "seed " << seed << "\n"
             << PrintGraph(graph) << "\nbecame\n"
             << PrintGraph(simplified);
    }
    // A second time there is nothing left to do.
    Graph again = simplified;
    ASSERT_TRUE(Simplify(again).ok());
    EXPECT_EQ(PrintGraph(again), PrintGraph(simplified)) << "seed " << seed;
  }
  // Or the generator does not give the passes anything to do.
  EXPECT_LT(after, before * 3 / 4) << before << " ops became " << after;
}

INSTANTIATE_TEST_SUITE_P(All, SimplifyRandomTest, testing::Bool(),
                         [](const auto& info) {
                           return std::string(info.param ? "Int8" : "Float");
                         });

}  // namespace
}  // namespace edgekiln::compiler
