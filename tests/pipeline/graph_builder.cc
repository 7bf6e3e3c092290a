#include "tests/pipeline/graph_builder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"

namespace edgekiln::tests {
namespace {

using compiler::kNoTensor;
using compiler::Tensor;
using compiler::TensorId;

void SetWindow(const WindowCase& from, v1::Window2d* to) {
  to->set_stride_h(from.stride[0]);
  to->set_stride_w(from.stride[1]);
  to->set_dilation_h(from.dilation[0]);
  to->set_dilation_w(from.dilation[1]);
  to->set_pad_top(from.pad[0]);
  to->set_pad_bottom(from.pad[1]);
  to->set_pad_left(from.pad[2]);
  to->set_pad_right(from.pad[3]);
}

int64_t OutputExtent(int64_t extent, int64_t kernel, int32_t stride,
                     int32_t dilation, int32_t before, int32_t after) {
  return (extent + before + after - (kernel - 1) * dilation - 1) / stride + 1;
}

}  // namespace

float QuantizedGraphBuilder::Scale(float scale) const {
  int exponent = 0;
  const float significand = std::frexp(scale, &exponent);
  return powers_of_two_ ? scale / (2 * significand) : scale;
}

void QuantizedGraphBuilder::UseShifts(v1::Rounding rounding) {
  factor_rounding_ = rounding;
  powers_of_two_ = one_scale_ = true;
  zero_points_ = false;
}

void QuantizedGraphBuilder::LimitWeights(int32_t least, int32_t most) {
  least_weight_ = least;
  most_weight_ = most;
}

void QuantizedGraphBuilder::MaybeConvert(TensorId weights, TensorId bias,
                                         TensorId output,
                                         v1::OpAttributes& attributes) {
  if (converter_percent_ == 0 || rng_.Below(100) >= converter_percent_) return;
  Tensor& tensor = graph_.tensors[weights];
  std::string data(tensor.num_elements(), '\0');
  for (char& value : data) value = static_cast<char>(rng_.InRange(-1, 1));
  tensor.data = compiler::ConstantData(std::move(data));
  graph_.tensors[output].quantization->zero_point = {0};
  attributes.set_rounding(v1::FLOOR);
  const int64_t channels = tensor.shape[0];
  const int64_t terms = tensor.num_elements() / channels;
  v1::Converter& converter = *attributes.mutable_converter();
  // So that many codes occur, and some are limited.
  const auto spread =
      static_cast<int64_t>(60 * std::sqrt(static_cast<double>(terms)));
  if (bias != kNoTensor) {
    graph_.tensors[bias].data =
        compiler::ConstantData(BiasValues(channels, spread));
  }
  converter.set_gain(
      static_cast<int32_t>(rng_.InRange(spread / 40 + 1, spread / 10 + 1)));
  converter.set_min(-32);
  converter.set_max(31);
  converter.set_shift(static_cast<int32_t>(rng_.InRange(0, 8)));
  const int64_t unit = int64_t{1} << converter.shift();
  const bool one = rng_.Below(3) == 0;
  for (int64_t c = 0; c < (one ? 1 : channels); ++c) {
    // Some wrap in 16 bits.
    const int64_t most = rng_.Below(8) == 0 ? 32767 : 4 * unit;
    const int64_t sign = rng_.Below(2) == 0 ? 1 : -1;
    converter.add_scale(
        static_cast<int32_t>(sign * rng_.InRange((unit + 1) / 2, most)));
    converter.add_offset(
        static_cast<int32_t>(rng_.InRange(-8 * unit, 8 * unit)));
  }
}

TensorId QuantizedGraphBuilder::AddTensor(Tensor tensor) {
  tensor.name = absl::StrCat("t", graph_.tensors.size());
  graph_.tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(graph_.tensors.size()) - 1;
}

TensorId QuantizedGraphBuilder::Activation(std::vector<int64_t> shape) {
  Tensor tensor;
  tensor.type = v1::INT8;
  tensor.shape = std::move(shape);
  compiler::Quantization quantization;
  quantization.scale = {
      Scale(0.02f + 0.001f * static_cast<float>(rng_.Below(60)))};
  if (shares_scale_) quantization.scale = {Scale(0.05f)};
  quantization.zero_point = {static_cast<int32_t>(rng_.InRange(-128, 127))};
  if (!zero_points_) quantization.zero_point = {0};
  tensor.quantization = quantization;
  return AddTensor(std::move(tensor));
}

TensorId QuantizedGraphBuilder::Weights(std::vector<int64_t> shape,
                                        int32_t axis) {
  Tensor tensor;
  tensor.type = v1::INT8;
  tensor.shape = std::move(shape);
  compiler::Quantization quantization;
  if (weight_zero_points_) {
    quantization.scale = {
        Scale(0.002f + 0.0001f * static_cast<float>(rng_.Below(99)))};
    // Far ones saturate every sum, and then networks show nothing; random
    // programs have all of them.
    quantization.zero_point = {static_cast<int32_t>(rng_.InRange(-16, 16))};
  } else {
    quantization.axis = axis;
  }
  for (int64_t c = 0; c < tensor.shape[axis] && !weight_zero_points_; ++c) {
    quantization.scale.push_back(
        Scale(0.002f + 0.0001f * static_cast<float>(rng_.Below(99))));
    quantization.zero_point.push_back(0);
  }
  if (one_scale_) {
    quantization.scale.resize(1);
    quantization.zero_point.resize(1);
    quantization.axis = 0;
  }
  tensor.quantization = quantization;
  std::string data(tensor.num_elements(), '\0');
  for (char& value : data) {
    value = static_cast<char>(rng_.InRange(least_weight_, most_weight_));
  }
  tensor.data = compiler::ConstantData(std::move(data));
  return AddTensor(std::move(tensor));
}

std::string QuantizedGraphBuilder::BiasValues(int64_t channels, int64_t most) {
  std::string data(channels * 4, '\0');
  for (int64_t c = 0; c < channels; ++c) {
    const auto value = static_cast<int32_t>(rng_.InRange(-most, most));
    std::memcpy(data.data() + c * 4, &value, 4);
  }
  return data;
}

TensorId QuantizedGraphBuilder::Bias(int64_t channels) {
  Tensor tensor;
  tensor.type = v1::INT32;
  tensor.shape = {channels};
  tensor.data = compiler::ConstantData(BiasValues(channels, 3000));
  return AddTensor(std::move(tensor));
}

TensorId QuantizedGraphBuilder::AddOp(v1::OpAttributes attributes,
                                      std::vector<TensorId> inputs,
                                      TensorId output) {
  compiler::Op op;
  op.id = absl::StrCat("op", graph_.ops.size());
  op.name = op.id;
  op.attributes = std::move(attributes);
  if (!op.attributes.has_max_pool2d() && !op.attributes.has_reshape()) {
    const bool by_factors =
        op.attributes.has_conv2d() || op.attributes.has_depthwise_conv2d() ||
        op.attributes.has_fully_connected() || op.attributes.has_add();
    if (!op.attributes.has_converter()) {
      op.attributes.set_rounding(by_factors ? factor_rounding_ : rounding_);
    }
  }
  op.inputs = std::move(inputs);
  if (op.attributes.has_converter() && !converts_biases_) {
    op.inputs.resize(2);
  }
  op.outputs = {output};
  graph_.ops.push_back(std::move(op));
  return output;
}

std::vector<int64_t> QuantizedGraphBuilder::Windowed(TensorId x,
                                                     const WindowCase& window,
                                                     int64_t channels) const {
  const std::vector<int64_t>& in = shape(x);
  return {in[0],
          OutputExtent(in[1], window.kernel[0], window.stride[0],
                       window.dilation[0], window.pad[0], window.pad[1]),
          OutputExtent(in[2], window.kernel[1], window.stride[1],
                       window.dilation[1], window.pad[2], window.pad[3]),
          channels};
}

TensorId QuantizedGraphBuilder::Input(std::vector<int64_t> shape) {
  const TensorId input = Activation(std::move(shape));
  graph_.inputs.push_back(input);
  return input;
}

TensorId QuantizedGraphBuilder::InputLike(TensorId x) {
  const TensorId input = Input(shape(x));
  graph_.tensors[input].quantization = graph_.tensors[x].quantization;
  return input;
}

TensorId QuantizedGraphBuilder::AddMap(const v1::OpAttributes& attributes,
                                       std::vector<TensorId> inputs) {
  const TensorId output = Activation(shape(inputs[0]));
  graph_.tensors[output].quantization = graph_.tensors[inputs[0]].quantization;
  return AddOp(attributes, std::move(inputs), output);
}

TensorId QuantizedGraphBuilder::Relu(TensorId x) {
  v1::OpAttributes attributes;
  attributes.mutable_clip()->mutable_clamp()->set_min(0);
  return AddMap(attributes, {x});
}

TensorId QuantizedGraphBuilder::LeakyRelu(TensorId x, float slope) {
  v1::OpAttributes attributes;
  attributes.mutable_unary()->set_function(v1::Unary::LEAKY_RELU);
  attributes.mutable_unary()->set_alpha(slope);
  return AddMap(attributes, {x});
}

TensorId QuantizedGraphBuilder::Abs(TensorId x) {
  v1::OpAttributes attributes;
  attributes.mutable_unary()->set_function(v1::Unary::ABS);
  return AddMap(attributes, {x});
}

TensorId QuantizedGraphBuilder::Minimum(TensorId a, TensorId b) {
  v1::OpAttributes attributes;
  attributes.mutable_binary()->set_function(v1::Binary::MINIMUM);
  return AddMap(attributes, {a, b});
}

TensorId QuantizedGraphBuilder::Maximum(TensorId a, TensorId b) {
  v1::OpAttributes attributes;
  attributes.mutable_binary()->set_function(v1::Binary::MAXIMUM);
  return AddMap(attributes, {a, b});
}

TensorId QuantizedGraphBuilder::Conv(TensorId x, int64_t channels,
                                     const WindowCase& window, bool relu) {
  v1::OpAttributes attributes;
  SetWindow(window, attributes.mutable_conv2d()->mutable_window());
  if (relu) attributes.mutable_conv2d()->mutable_clamp()->set_min(0);
  const int64_t in_channels = shape(x)[3];
  const TensorId weights =
      Weights({channels, window.kernel[0], window.kernel[1], in_channels}, 0);
  const TensorId bias = rng_.Below(4) == 0 ? kNoTensor : Bias(channels);
  const TensorId output = Activation(Windowed(x, window, channels));
  MaybeConvert(weights, bias, output, attributes);
  return AddOp(attributes, {x, weights, bias}, output);
}

TensorId QuantizedGraphBuilder::Depthwise(TensorId x, int64_t multiplier,
                                          const WindowCase& window, bool relu) {
  v1::OpAttributes attributes;
  auto* depthwise = attributes.mutable_depthwise_conv2d();
  SetWindow(window, depthwise->mutable_window());
  depthwise->set_depth_multiplier(static_cast<int32_t>(multiplier));
  if (relu) depthwise->mutable_clamp()->set_min(0);
  const int64_t channels = shape(x)[3] * multiplier;
  const TensorId weights =
      Weights({1, window.kernel[0], window.kernel[1], channels}, 3);
  const TensorId bias = Bias(channels);
  return AddOp(attributes, {x, weights, bias},
               Activation(Windowed(x, window, channels)));
}

TensorId QuantizedGraphBuilder::FullyConnected(TensorId x, int64_t channels) {
  v1::OpAttributes attributes;
  attributes.mutable_fully_connected();
  const std::vector<int64_t> in = shape(x);
  const TensorId weights = Weights({channels, in.back()}, 0);
  const TensorId bias = Bias(channels);
  std::vector<int64_t> out = in;
  out.back() = channels;
  const TensorId output = Activation(std::move(out));
  MaybeConvert(weights, bias, output, attributes);
  return AddOp(attributes, {x, weights, bias}, output);
}

TensorId QuantizedGraphBuilder::Add(TensorId a, TensorId b) {
  v1::OpAttributes attributes;
  attributes.mutable_add();
  return AddOp(attributes, {a, b}, Activation(shape(a)));
}

template <typename Attributes>
TensorId QuantizedGraphBuilder::Pool(
    TensorId x, const WindowCase& window,
    Attributes* (v1::OpAttributes::*mutable_pool)()) {
  v1::OpAttributes attributes;
  Attributes* const pool = (attributes.*mutable_pool)();
  pool->set_kernel_h(static_cast<int32_t>(window.kernel[0]));
  pool->set_kernel_w(static_cast<int32_t>(window.kernel[1]));
  SetWindow(window, pool->mutable_window());
  const TensorId output = Activation(Windowed(x, window, shape(x)[3]));
  graph_.tensors[output].quantization = graph_.tensors[x].quantization;
  return AddOp(attributes, {x}, output);
}

TensorId QuantizedGraphBuilder::AveragePool(TensorId x,
                                            const WindowCase& window) {
  return Pool(x, window, &v1::OpAttributes::mutable_average_pool2d);
}

TensorId QuantizedGraphBuilder::MaxPool(TensorId x, const WindowCase& window) {
  return Pool(x, window, &v1::OpAttributes::mutable_max_pool2d);
}

TensorId QuantizedGraphBuilder::Reshape(TensorId x,
                                        std::vector<int64_t> shape) {
  v1::OpAttributes attributes;
  attributes.mutable_reshape();
  const TensorId output = Activation(std::move(shape));
  graph_.tensors[output].quantization = graph_.tensors[x].quantization;
  return AddOp(attributes, {x}, output);
}

TensorId QuantizedGraphBuilder::Transpose(
    TensorId x, const std::vector<int32_t>& permutation) {
  v1::OpAttributes attributes;
  std::vector<int64_t> shape;
  for (const int32_t axis : permutation) {
    attributes.mutable_transpose()->add_permutation(axis);
    shape.push_back(graph_.tensors[x].shape[axis]);
  }
  const TensorId output = Activation(std::move(shape));
  graph_.tensors[output].quantization = graph_.tensors[x].quantization;
  return AddOp(attributes, {x}, output);
}

TensorId QuantizedGraphBuilder::Constant(std::vector<int64_t> shape) {
  const TensorId constant = Activation(std::move(shape));
  std::string data(graph_.tensors[constant].num_elements(), '\0');
  for (char& value : data) value = static_cast<char>(rng_.InRange(-128, 127));
  graph_.tensors[constant].data = compiler::ConstantData(std::move(data));
  return constant;
}

compiler::Graph QuantizedGraphBuilder::Finish(std::vector<TensorId> outputs) {
  graph_.name = "test";
  graph_.outputs = std::move(outputs);
  return graph_;
}

std::string QuantizedGraphBuilder::Sample() {
  std::string sample(graph_.tensors[graph_.inputs[0]].num_elements(), '\0');
  for (char& value : sample) value = static_cast<char>(rng_.InRange(-128, 127));
  return sample;
}

std::vector<int64_t> RandomShape(Rng& rng, int64_t elements) {
  std::vector<int64_t> shape(rng.InRange(elements == 1 ? 0 : 1, 7), 1);
  if (shape.empty()) return shape;
  const bool one = shape.size() > 1 && rng.Below(2) == 0;
  const auto at = [&]() -> int64_t& {
    return shape[rng.InRange(one ? 1 : 0,
                             static_cast<int64_t>(shape.size()) - 1)];
  };
  for (int64_t factor = 2; elements > 1; ++factor) {
    for (; elements % factor == 0; elements /= factor) at() *= factor;
  }
  return shape;
}

namespace {

// An image of batch one with what `x` holds: what convolutions read.
TensorId AsImage(QuantizedGraphBuilder& builder, TensorId x) {
  Rng& rng = builder.rng();
  std::vector<int64_t> shape = RandomShape(rng, builder.num_elements(x));
  shape.resize(3, 1);
  shape.insert(shape.begin(), 1);
  int64_t kept = 1;
  for (const int64_t extent : shape) kept *= extent;
  shape[rng.InRange(1, 3)] *= builder.num_elements(x) / kept;
  return builder.Reshape(x, shape);
}

// A layer that reads `x` or an image of it.
TensorId RandomLayer(QuantizedGraphBuilder& builder, TensorId x) {
  Rng& rng = builder.rng();
  switch (rng.Below(5)) {
    case 0: {
      const TensorId image = AsImage(builder, x);
      return builder.Conv(image, rng.InRange(1, 12), {}, rng.Below(2) == 0);
    }
    case 1: {
      const TensorId image = AsImage(builder, x);
      WindowCase window;
      window.kernel[0] = std::min<int64_t>(2, builder.shape(image)[1]);
      return builder.MaxPool(image, window);
    }
    case 2:
      return builder.Add(x, x);
    case 3:
      return builder.Add(
          builder.Reshape(builder.Constant({builder.num_elements(x)}),
                          builder.shape(x)),
          x);
    default:
      if (builder.shape(x).empty()) return builder.Add(x, x);
      return builder.FullyConnected(x, rng.InRange(1, 16));
  }
}

}  // namespace

compiler::Graph RandomReshapeNet(QuantizedGraphBuilder& builder) {
  Rng& rng = builder.rng();
  const TensorId input =
      builder.Input({rng.InRange(1, 8), 6 * rng.InRange(1, 8)});
  std::vector<TensorId> outputs;
  const auto reshaped = [&](TensorId x) {
    for (int64_t i = rng.InRange(0, 3); i > 0; --i) {
      x = builder.Reshape(x, RandomShape(rng, builder.num_elements(x)));
      if (rng.Below(4) == 0) outputs.push_back(x);
    }
    return x;
  };
  // One layer at least is the engine's.
  TensorId x = builder.FullyConnected(input, rng.InRange(1, 16));
  reshaped(input);
  for (int64_t layers = rng.InRange(1, 4); layers > 0; --layers) {
    x = RandomLayer(builder, reshaped(x));
  }
  outputs.push_back(reshaped(x));
  return builder.Finish(std::move(outputs));
}

WindowCase RandomWindow(Rng& rng, int64_t h, int64_t w, bool dilate) {
  WindowCase window;
  const int64_t extent[2] = {h, w};
  for (int axis = 0; axis < 2; ++axis) {
    window.kernel[axis] = rng.InRange(1, 5);
    window.dilation[axis] =
        dilate ? static_cast<int32_t>(rng.InRange(1, 2)) : 1;
    window.stride[axis] = static_cast<int32_t>(rng.InRange(1, 3));
    const auto reach = (window.kernel[axis] - 1) * window.dilation[axis];
    window.pad[axis * 2] = static_cast<int32_t>(rng.InRange(0, reach));
    window.pad[axis * 2 + 1] = static_cast<int32_t>(rng.InRange(0, reach));
    const int64_t room =
        extent[axis] + window.pad[axis * 2] + window.pad[axis * 2 + 1];
    if (reach + 1 > room || !dilate) {
      // At least one output; a pooling window must meet the image everywhere.
      window.kernel[axis] = std::min(window.kernel[axis], extent[axis]);
      window.dilation[axis] = 1;
      const auto most = static_cast<int32_t>(window.kernel[axis] - 1) / 2;
      window.pad[axis * 2] = std::min(window.pad[axis * 2], most);
      window.pad[axis * 2 + 1] = std::min(window.pad[axis * 2 + 1], most);
    }
  }
  return window;
}

}  // namespace edgekiln::tests
