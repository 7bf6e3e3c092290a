#include "compiler/codegen/c/testing/op_maker.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "compiler/ir/tensor_views.h"
#include "ops/quantized_parameters.h"
#include "ops/shape_inference.h"

namespace edgekiln::compiler {
OpMaker::Shape OpMaker::RandomShape(int64_t rank, int64_t most) {
  Shape shape;
  for (int64_t d = 0; d < rank; ++d) shape.push_back(1 + Below(most));
  return shape;
}

TensorId OpMaker::AddTensor(Shape shape, v1::ElementType type, bool quantized,
                            const std::string& name) {
  Tensor tensor;
  const size_t hash = name.find('#');
  tensor.name = absl::StrCat(
      name.substr(0, hash), graph_.tensors.size(),
      hash == std::string::npos ? std::string() : name.substr(hash));
  tensor.type = type;
  tensor.shape = std::move(shape);
  if (quantized) {
    static constexpr float kScales[] = {0.05f,        0.125f,     0.031f,
                                        1.0f / 256,   1.0f / 128, 1.0f / 4096,
                                        1.0f / 32768, 0.7f};
    int32_t zero = 0;
    if (type == v1::INT8 && Below(3) != 0) zero = Below(200) - 100;
    if (type == v1::UINT8 && Below(3) != 0) zero = Below(256);
    tensor.quantization = {
        .scale = {kScales[Below(8)]}, .zero_point = {zero}, .axis = 0};
  }
  graph_.tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(graph_.tensors.size()) - 1;
}

TensorId OpMaker::InputOf(Shape shape, v1::ElementType type, bool quantized,
                          const std::string& name) {
  const TensorId id = AddTensor(std::move(shape), type, quantized, name);
  graph_.inputs.push_back(id);
  return id;
}

TensorId OpMaker::ConstantOf(Shape shape, v1::ElementType type,
                             bool quantized) {
  const TensorId id = AddTensor(std::move(shape), type, quantized);
  std::string data;
  const auto put = [&data](auto value) {
    data.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  for (int64_t i = 0; i < Of(id).num_elements(); ++i) {
    const double real = random_.Unit() * 4 - 2;
    switch (type) {
      case v1::FLOAT32:
        put(static_cast<float>(real));
        break;
      case v1::FLOAT64:
        put(real);
        break;
      case v1::FLOAT16:
        put(static_cast<uint16_t>(random_.Below(2) << 15 |
                                  random_.Below(0x4400)));
        break;
      case v1::BOOL:
        put(static_cast<uint8_t>(Below(2)));
        break;
      default: {
        const uint64_t value = random_.Next();
        data.append(reinterpret_cast<const char*>(&value),
                    static_cast<size_t>(ElementBytes(type)));
      }
    }
  }
  Of(id).data = ConstantData(std::move(data));
  return id;
}

TensorId OpMaker::Either(Shape shape) {
  return OneOf(2) ? Input(std::move(shape))
                  : ConstantOf(std::move(shape), type_, quantized_);
}

TensorId OpMaker::Indices(Shape shape, int64_t extent) {
  return InputOf(std::move(shape), OneOf(2) ? v1::INT32 : v1::INT64, false,
                 absl::StrCat("i#", extent));
}

void OpMaker::PerChannel(TensorId id, int64_t channels, int32_t axis) {
  Quantization q;
  q.axis = axis;
  for (int64_t c = 0; c < channels; ++c) {
    q.scale.push_back(static_cast<float>(1 + Below(60)) / 2048);
    q.zero_point.push_back(Of(id).type == v1::UINT8 ? Below(256) : 0);
  }
  Of(id).quantization = std::move(q);
}

void OpMaker::SameQuantization(TensorId from, TensorId to) {
  Of(to).quantization = Of(from).quantization;
}

void OpMaker::Emit(std::vector<TensorId> inputs, int moves,
                   v1::ElementType output_type) {
  const auto shapes = ops::InferShapes(op_, ViewsOf(graph_, inputs));
  if (!shapes.ok()) return;
  EmitShaped(std::move(inputs), *shapes, moves, output_type);
}

void OpMaker::EmitShaped(std::vector<TensorId> inputs,
                         std::vector<Shape> shapes, int moves,
                         v1::ElementType output_type) {
  Op op;
  op.id = absl::StrCat("op", graph_.ops.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    v1::ElementType type =
        output_type == v1::ELEMENT_TYPE_UNSPECIFIED ? type_ : output_type;
    bool quantized = quantized_ && type == type_;
    if (i > 0 && (op_.has_top_k() || op_.has_pool())) {
      type = op_.has_pool() || OneOf(2) ? v1::INT64 : v1::INT32;
      quantized = false;
    }
    const TensorId id = AddTensor(shapes[i], type, quantized);
    if (moves > 0 && !(i > 0 && (op_.has_top_k() || op_.has_pool()))) {
      SameQuantization(inputs[static_cast<size_t>(moves - 1)], id);
    }
    op.outputs.push_back(id);
  }
  op.attributes = op_;
  op.inputs = std::move(inputs);
  graph_.ops.push_back(std::move(op));
}

void OpMaker::RandomClamp(v1::Clamp* clamp) {
  if (OneOf(3)) clamp->set_min(static_cast<float>(Below(3)) - 2);
  if (OneOf(3)) clamp->set_max(static_cast<float>(Below(4)) + 0.5f);
}

void OpMaker::RandomRounding() {
  if (!quantized_) return;
  if (OneOf(3)) op_.set_rounding(v1::HALF_EVEN);
  if (OneOf(8)) op_.set_rounding(v1::FLOOR);
}

v1::Window2d OpMaker::Window2d() {
  v1::Window2d w;
  w.set_stride_h(static_cast<int32_t>(1 + Below(2)));
  w.set_stride_w(static_cast<int32_t>(1 + Below(3)));
  w.set_dilation_h(static_cast<int32_t>(OneOf(4) ? 2 : 1));
  w.set_dilation_w(static_cast<int32_t>(OneOf(4) ? 2 : 1));
  w.set_pad_top(static_cast<int32_t>(Below(3)));
  w.set_pad_bottom(static_cast<int32_t>(Below(3)));
  w.set_pad_left(static_cast<int32_t>(Below(3)));
  w.set_pad_right(static_cast<int32_t>(Below(3)));
  return w;
}

v1::Window OpMaker::Window(int64_t dims) {
  v1::Window w;
  for (int64_t d = 0; d < dims; ++d) {
    w.add_stride(static_cast<int32_t>(1 + Below(2)));
    w.add_dilation(static_cast<int32_t>(OneOf(4) ? 2 : 1));
    w.add_pad_before(static_cast<int32_t>(Below(2)));
    w.add_pad_after(static_cast<int32_t>(Below(2)));
  }
  return w;
}

std::vector<TensorId> OpMaker::WeightsAndBias(Shape weights, int32_t axis) {
  const int64_t channels = weights[static_cast<size_t>(axis)];
  v1::ElementType type = type_;
  if (quantized_ && type_ == v1::INT16) type = v1::INT8;
  if (quantized_ && type_ != v1::INT16 && OneOf(4)) type = v1::UINT8;
  const bool constant = !OneOf(4);
  const TensorId w = constant ? ConstantOf(weights, type, quantized_)
                              : InputOf(weights, type, quantized_);
  if (quantized_ && OneOf(2)) PerChannel(w, channels, axis);
  if (quantized_ && type == v1::INT8 && !OneOf(3)) {
    for (int32_t& zero : Of(w).quantization->zero_point) zero = 0;
  }
  std::vector<TensorId> result{w};
  if (OneOf(3)) return result;
  v1::ElementType bias = type_;
  if (quantized_) bias = v1::INT32;
  if (quantized_ && type_ == v1::INT16 && OneOf(2)) bias = v1::INT64;
  result.push_back(OneOf(2) ? ConstantOf({channels}, bias, false)
                            : InputOf({channels}, bias, false));
  return result;
}

bool OpMaker::Make(const std::string& kind) {
  const std::vector<std::string> parts = absl::StrSplit(kind, '/');
  if (parts[0] == "binary") return MakeBinary(parts[1]);
  return MakeConvolution(kind) || MakeDot(kind) || MakePool(kind) ||
         MakeElementwise(kind) || MakeMovement(kind) || MakeIndexed(kind) ||
         MakeReduction(kind) || MakeNormalization(kind) ||
         (kind == "resize" && MakeResize()) || MakeRecurrent(kind);
}

// Sums instead of results, or a converter behind them.
bool OpMaker::MakeConvolution(const std::string& kind) {
  std::vector<TensorId> inputs;
  Shape x;
  if (kind == "conv2d") {
    const int64_t groups = OneOf(3) ? 2 : 1;
    x = {1 + Below(2), 2 + Below(6), 2 + Below(6), groups * (1 + Below(6))};
    v1::Conv2d& conv = *op_.mutable_conv2d();
    *conv.mutable_window() = Window2d();
    conv.set_groups(static_cast<int32_t>(groups));
    if (OneOf(2)) RandomClamp(conv.mutable_clamp());
    inputs = WeightsAndBias(
        {groups * (1 + Below(6)), 1 + Below(3), 1 + Below(3), x[3] / groups},
        0);
  } else if (kind == "depthwise_conv2d") {
    x = {1 + Below(2), 2 + Below(6), 2 + Below(6), 1 + Below(6)};
    v1::DepthwiseConv2d& conv = *op_.mutable_depthwise_conv2d();
    *conv.mutable_window() = Window2d();
    conv.set_depth_multiplier(static_cast<int32_t>(1 + Below(2)));
    if (OneOf(2)) RandomClamp(conv.mutable_clamp());
    inputs = WeightsAndBias(
        {1, 1 + Below(3), 1 + Below(3), x[3] * conv.depth_multiplier()}, 3);
  } else if (kind == "conv3d") {
    const int64_t groups = OneOf(3) ? 2 : 1;
    x = {1, 2 + Below(3), 2 + Below(3), 2 + Below(3), groups * (1 + Below(3))};
    v1::Conv3d& conv = *op_.mutable_conv3d();
    *conv.mutable_window() = Window(3);
    conv.set_groups(static_cast<int32_t>(groups));
    inputs = WeightsAndBias({groups * (1 + Below(2)), 1 + Below(2),
                             1 + Below(2), 1 + Below(2), x[4] / groups},
                            0);
  } else if (kind == "transposed_conv") {
    const int64_t dims = 1 + Below(3);
    const int64_t groups = OneOf(3) ? 2 : 1;
    x = RandomShape(dims + 2, 4);
    x[0] = 1;
    x.back() = groups * (1 + Below(3));
    v1::TransposedConv& conv = *op_.mutable_transposed_conv();
    *conv.mutable_window() = Window(dims);
    conv.set_groups(static_cast<int32_t>(groups));
    Shape w{groups * (1 + Below(3))};
    for (int64_t d = 0; d < dims; ++d) {
      conv.add_output_pad(static_cast<int32_t>(Below(2)));
      w.push_back(1 + Below(3));
    }
    w.push_back(x.back() / groups);
    inputs = WeightsAndBias(w, 0);
  } else {
    return false;
  }
  RandomRounding();
  inputs.insert(inputs.begin(), Input(x));
  if (!quantized_ || !OneOf(4)) {
    Emit(std::move(inputs));
    return true;
  }
  op_.clear_rounding();
  if (op_.has_conv2d()) op_.mutable_conv2d()->clear_clamp();
  if (op_.has_depthwise_conv2d()) op_.mutable_depthwise_conv2d()->clear_clamp();
  Emit(inputs, 0, v1::INT32);
  if (graph_.ops.empty()) return true;
  const TensorId out = graph_.ops.back().outputs[0];
  const Quantization& w = *Of(inputs[1]).quantization;
  Quantization q;
  q.axis = static_cast<int32_t>(Of(out).shape.size()) - 1;
  q.scale = ops::AccumulatorScales(QuantizationOf(Of(inputs[0])),
                                   QuantizationOf(Of(inputs[1])));
  q.zero_point.assign(w.scale.size(), 0);
  Of(out).quantization = std::move(q);
  return true;
}

bool OpMaker::MakeDot(const std::string& kind) {
  if (kind == "fully_connected") {
    const int64_t depth = 1 + Below(9);
    Shape x =
        OneOf(3) ? Shape{2, 1 + Below(3), depth} : Shape{1 + Below(2), depth};
    if (OneOf(2)) {
      RandomClamp(op_.mutable_fully_connected()->mutable_clamp());
    } else {
      op_.mutable_fully_connected();
    }
    RandomRounding();
    if (quantized_ && type_ == v1::INT8 && OneOf(3)) {
      op_.set_rounding(v1::FLOOR);
      v1::Converter& c = *op_.mutable_converter();
      c.set_gain(static_cast<int32_t>(1 + Below(300)));
      c.set_min(-128);
      c.set_max(static_cast<int32_t>(100 + Below(100)));
      c.add_scale(static_cast<int32_t>(Below(1000)) - 500);
      c.add_offset(static_cast<int32_t>(Below(1000)) - 500);
      c.set_shift(static_cast<int32_t>(Below(16)));
    }
    std::vector<TensorId> inputs = WeightsAndBias({1 + Below(6), depth}, 0);
    inputs.insert(inputs.begin(), Input(x));
    Emit(std::move(inputs));
    if (op_.has_converter() && !graph_.ops.empty()) {
      Tensor& out = Of(graph_.ops.back().outputs[0]);
      if (out.quantization) out.quantization->zero_point[0] = 0;
    }
    return true;
  }
  if (kind != "mat_mul") return false;
  op_.mutable_mat_mul();
  RandomRounding();
  const int64_t depth = 1 + Below(6);
  Shape a{1 + Below(4), depth};
  Shape b{depth, 1 + Below(4)};
  for (int64_t d = Below(3); d > 0; --d) {
    const int64_t extent = 1 + Below(3);
    a.insert(a.begin(), OneOf(3) ? 1 : extent);
    if (!OneOf(3)) b.insert(b.begin(), OneOf(3) ? 1 : extent);
  }
  const TensorId left = Input(a);
  const TensorId right = Either(b);
  if (quantized_ && OneOf(2) && type_ != v1::INT16) {
    PerChannel(right, b.back(), static_cast<int32_t>(b.size()) - 1);
  }
  Emit({left, right});
  return true;
}

bool OpMaker::MakePool(const std::string& kind) {
  const auto fill = [&](auto* pool) {
    pool->set_kernel_h(static_cast<int32_t>(1 + Below(3)));
    pool->set_kernel_w(static_cast<int32_t>(1 + Below(3)));
    *pool->mutable_window() = Window2d();
    if (OneOf(2) && (quantized_ || type_ == v1::FLOAT32)) {
      RandomClamp(pool->mutable_clamp());
    }
  };
  const Shape x{1 + Below(2), 2 + Below(5), 2 + Below(5), 1 + Below(4)};
  if (kind == "average_pool2d") {
    fill(op_.mutable_average_pool2d());
    op_.mutable_average_pool2d()->set_count_include_pad(OneOf(2));
    if (quantized_ && OneOf(3)) op_.set_rounding(v1::HALF_EVEN);
    Emit({Input(x)}, 1);
    return true;
  }
  if (kind == "max_pool2d") {
    fill(op_.mutable_max_pool2d());
    Emit({Input(x)}, 1);
    return true;
  }
  if (kind != "pool") return false;
  const int64_t dims = 1 + Below(3);
  v1::Pool& pool = *op_.mutable_pool();
  pool.set_function(static_cast<v1::Pool::Function>(1 + Below(3)));
  for (int64_t d = 0; d < dims; ++d) {
    pool.add_kernel(static_cast<int32_t>(1 + Below(3)));
  }
  *pool.mutable_window() = Window(dims);
  pool.set_p(static_cast<int32_t>(1 + Below(3)));
  pool.set_count_include_pad(OneOf(2));
  pool.set_column_major(OneOf(2));
  if (pool.function() == v1::Pool::AVERAGE && quantized_ && OneOf(3)) {
    op_.set_rounding(v1::HALF_EVEN);
  }
  Shape shape = RandomShape(dims + 2, 5);
  shape[0] = 1 + Below(2);
  Emit({Input(shape)}, 1);
  return true;
}

}  // namespace edgekiln::compiler
