#ifndef EK_TESTS_PIPELINE_GRAPH_BUILDER_H_
#define EK_TESTS_PIPELINE_GRAPH_BUILDER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "compiler/ir/graph.h"

namespace edgekiln::tests {

// How far a window reaches; rows first.
struct WindowCase {
  int64_t kernel[2] = {1, 1};
  int32_t stride[2] = {1, 1};
  int32_t dilation[2] = {1, 1};
  int32_t pad[4] = {0, 0, 0, 0};  // Top, bottom, left, right.
};

// Makes quantized int8 graphs with random weights, layer by layer. Every value
// is a function of the seed.
class QuantizedGraphBuilder {
 public:
  explicit QuantizedGraphBuilder(uint64_t seed) : rng_(seed) {}

  // From here on: ties to even, and scales that make many of them.
  void RoundHalfEven() {
    rounding_ = factor_rounding_ = v1::HALF_EVEN;
    powers_of_two_ = true;
  }
  // From here on: weights with one scale and any zero point, as uint8 networks
  // have them.
  void GiveWeightsZeroPoints() { weight_zero_points_ = true; }

  // From here on: zero points 0, one scale for all weights of a layer, and
  // every scale a power of two. Sums and additions round like this.
  void UseShifts(v1::Rounding rounding);
  // From here on: activations have one scale.
  void ShareScale() { shares_scale_ = true; }
  // From here on: no zero points.
  void CentreActivations() { zero_points_ = false; }
  // From here on: weights from `least` to `most`.
  void LimitWeights(int32_t least, int32_t most);
  // From here on: so many in a hundred convolutions and matrix products have
  // ternary weights and a converter to codes of 6 bits.
  void UseConverters(uint64_t percent) { converter_percent_ = percent; }
  // Layers with a converter have no bias.
  void LeaveOutConvertedBiases() { converts_biases_ = false; }

  compiler::TensorId Input(std::vector<int64_t> shape);
  // Of its shape and quantization.
  compiler::TensorId InputLike(compiler::TensorId x);
  compiler::TensorId Conv(compiler::TensorId x, int64_t channels,
                          const WindowCase& window, bool relu);
  compiler::TensorId Depthwise(compiler::TensorId x, int64_t multiplier,
                               const WindowCase& window, bool relu);
  compiler::TensorId FullyConnected(compiler::TensorId x, int64_t channels);
  compiler::TensorId Add(compiler::TensorId a, compiler::TensorId b);
  compiler::TensorId AveragePool(compiler::TensorId x,
                                 const WindowCase& window);
  compiler::TensorId MaxPool(compiler::TensorId x, const WindowCase& window);
  // These keep the quantization of their operand, `a` of two.
  compiler::TensorId Relu(compiler::TensorId x);
  compiler::TensorId LeakyRelu(compiler::TensorId x, float slope);
  compiler::TensorId Abs(compiler::TensorId x);
  compiler::TensorId Minimum(compiler::TensorId a, compiler::TensorId b);
  compiler::TensorId Maximum(compiler::TensorId a, compiler::TensorId b);
  compiler::TensorId Reshape(compiler::TensorId x, std::vector<int64_t> shape);
  compiler::TensorId Transpose(compiler::TensorId x,
                               const std::vector<int32_t>& permutation);
  // Random values with one scale.
  compiler::TensorId Constant(std::vector<int64_t> shape);

  compiler::Graph Finish(std::vector<compiler::TensorId> outputs);
  // One random sample for the only input.
  std::string Sample();

  Rng& rng() { return rng_; }
  int64_t num_elements(compiler::TensorId tensor) const {
    return graph_.tensors[tensor].num_elements();
  }
  const std::vector<int64_t>& shape(compiler::TensorId tensor) const {
    return graph_.tensors[tensor].shape;
  }

 private:
  compiler::TensorId AddTensor(compiler::Tensor tensor);
  compiler::TensorId Activation(std::vector<int64_t> shape);
  compiler::TensorId Weights(std::vector<int64_t> shape, int32_t axis);
  compiler::TensorId Bias(int64_t channels);
  // Either kind of pool.
  template <typename Attributes>
  compiler::TensorId Pool(compiler::TensorId x, const WindowCase& window,
                          Attributes* (v1::OpAttributes::*mutable_pool)());
  compiler::TensorId AddOp(v1::OpAttributes attributes,
                           std::vector<compiler::TensorId> inputs,
                           compiler::TensorId output);
  // To a tensor of the first input's shape and quantization.
  compiler::TensorId AddMap(const v1::OpAttributes& attributes,
                            std::vector<compiler::TensorId> inputs);
  std::vector<int64_t> Windowed(compiler::TensorId x, const WindowCase& window,
                                int64_t channels) const;

  // `scale`, or the power of two below it.
  float Scale(float scale) const;
  // Perhaps gives the op a converter, and weights and biases for it.
  void MaybeConvert(compiler::TensorId weights, compiler::TensorId bias,
                    compiler::TensorId output, v1::OpAttributes& attributes);
  // From -`most` to `most`.
  std::string BiasValues(int64_t channels, int64_t most);

  Rng rng_;
  v1::Rounding rounding_ = v1::HALF_UP;
  v1::Rounding factor_rounding_ = v1::HALF_UP;  // Of sums and additions.
  bool weight_zero_points_ = false;
  bool shares_scale_ = false;
  bool zero_points_ = true;
  bool powers_of_two_ = false;
  bool one_scale_ = false;
  int32_t least_weight_ = -127;
  int32_t most_weight_ = 127;
  uint64_t converter_percent_ = 0;
  bool converts_biases_ = true;
  compiler::Graph graph_;
};

// A shape of that many elements with any number of dimensions up to seven, the
// first of them 1 about as often as not.
std::vector<int64_t> RandomShape(Rng& rng, int64_t elements);

// Convolutions, additions, pools and matrix products with reshapes to any shape
// in front of, between and behind them, some in a row; some reshapes of the
// input, of a constant and of what layers make are outputs.
compiler::Graph RandomReshapeNet(QuantizedGraphBuilder& builder);

// A window that fits an image of h x w: random kernel, stride, dilation,
// padding smaller than the dilated kernel.
WindowCase RandomWindow(Rng& rng, int64_t h, int64_t w, bool dilate);

}  // namespace edgekiln::tests

#endif  // EK_TESTS_PIPELINE_GRAPH_BUILDER_H_
