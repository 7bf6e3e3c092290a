// Networks that reshape between layers of the chip: windows of attention,
// batches of four dimensions.

#include <cstdint>
#include <string>
#include <vector>

#include "base/rng.h"
#include "compiler/frontend/onnx/testing/test_model.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e/expectations.h"

namespace edgekiln::tests {
namespace {

using compiler::onnx_import::TestModel;

class ReshapesTest : public ClusterTest,
                     public testing::WithParamInterface<const char*> {};

// A model with random weights, written node by node.
class Writer {
 public:
  Writer() { model_.Input("x", {1, 3, 16, 16}); }

  std::string Weights(std::vector<int64_t> shape) {
    int64_t elements = 1;
    for (const int64_t extent : shape) elements *= extent;
    std::vector<float> values(static_cast<size_t>(elements));
    for (float& value : values) {
      value = static_cast<float>(rng_.InRange(-100, 100)) / 400;
    }
    return model_.Floats(NewName(), std::move(shape), std::move(values)), last_;
  }
  std::string Numbers(std::vector<int64_t> values) {
    return model_.Integers(NewName(), std::move(values)), last_;
  }
  std::string Add(const std::string& op, std::vector<std::string> inputs) {
    return model_.Node(op, std::move(inputs), {NewName()}), last_;
  }
  std::string Reshape(const std::string& x, std::vector<int64_t> shape) {
    return Add("Reshape", {x, Numbers(std::move(shape))});
  }
  std::string Transpose(const std::string& x, std::vector<int64_t> order) {
    const std::string y = Add("Transpose", {x});
    model_.Ints("perm", std::move(order));
    return y;
  }
  std::string Dense(const std::string& x, int64_t from, int64_t to) {
    return Add("Add", {Add("MatMul", {x, Weights({from, to})}), Weights({to})});
  }
  TestModel& model() { return model_; }
  std::string Finish(const std::string& y) { return model_.Output(y).bytes(); }

 private:
  std::string NewName() { return last_ = "t" + std::to_string(++names_); }

  TestModel model_;
  Rng rng_{11};
  int names_ = 0;
  std::string last_;
};

// Convolution to 8x8, attention in four windows of 4x4, a residual, a
// classifier: as TinyViT and Swin have it.
std::string WindowAttention() {
  constexpr int64_t kChannels = 16;
  Writer w;
  std::string x = w.Add("Conv", {"x", w.Weights({kChannels, 3, 3, 3})});
  w.model().Ints("strides", {2, 2}).Ints("pads", {1, 1, 1, 1});
  x = w.Transpose(x, {0, 2, 3, 1});
  std::string t = w.Reshape(x, {1, 2, 4, 2, 4, kChannels});
  t = w.Transpose(t, {0, 1, 3, 2, 4, 5});
  t = w.Reshape(t, {4, 16, kChannels});
  const auto heads = [&](std::vector<int64_t> order) {
    const std::string dense = w.Dense(t, kChannels, kChannels);
    return w.Transpose(w.Reshape(dense, {4, 16, 2, kChannels / 2}),
                       std::move(order));
  };
  std::string a = w.Add("MatMul", {heads({0, 2, 1, 3}), heads({0, 2, 3, 1})});
  a = w.Add("Softmax", {a});
  w.model().Int("axis", -1);
  a = w.Add("MatMul", {a, heads({0, 2, 1, 3})});
  a = w.Reshape(w.Transpose(a, {0, 2, 1, 3}), {4, 16, kChannels});
  a = w.Dense(a, kChannels, kChannels);
  a = w.Reshape(a, {1, 2, 2, 4, 4, kChannels});
  a = w.Transpose(a, {0, 1, 3, 2, 4, 5});
  a = w.Add("Add", {w.Reshape(a, {1, 64, kChannels}),
                    w.Reshape(x, {1, 64, kChannels})});
  a = w.Dense(a, kChannels, 8);
  a = w.Reshape(a, {4, 2, 8, 8});
  return w.Finish(w.Dense(w.Reshape(a, {1, 512}), 512, 10));
}

std::string ToABatch() {
  return TestModel()
      .Input("x", {2, 4})
      .Floats("w", {4, 12}, std::vector<float>(48, 0.5f))
      .Integers("s", {2, 3, 2, 2})
      .Node("MatMul", {"x", "w"}, {"a"})
      .Node("Reshape", {"a", "s"}, {"y"})
      .Output("y")
      .bytes();
}

// Nothing computes the first layer: its output is the input.
std::string OfTheInput() {
  return TestModel()
      .Input("x", {2, 4})
      .Floats("w", {8, 3}, std::vector<float>(24, 0.5f))
      .Integers("s", {1, 8})
      .Node("Reshape", {"x", "s"}, {"a"})
      .Node("MatMul", {"a", "w"}, {"y"})
      .Output("y")
      .bytes();
}

TEST_P(ReshapesTest, EveryLayerOutputIsTheReferences) {
  for (const std::string& model :
       {ToABatch(), OfTheInput(), WindowAttention()}) {
    const std::string path = sandbox().Write("net.onnx", model);
    const v1::Report report = ReportOf(cluster().Cli(
        {"profile", path, "--target", GetParam(), "--json", "--quiet"}));
    ExpectConsistent(report);
    EXPECT_EQ(report.bit_exact().mismatches(), 0)
        << report.bit_exact().first_mismatch();
    EXPECT_GT(report.bit_exact().outputs_compared(), 0);
    // No layer is left out of the comparison.
    for (const std::string& warning : report.warnings()) {
      ADD_FAILURE() << warning;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, ReshapesTest,
                         testing::Values("dla-64-o-512k", "dla-128-i-1m",
                                         "dla-128-o-256m"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) {
                             if (c == '-') c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace edgekiln::tests
