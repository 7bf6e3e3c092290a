#include "compiler/passes/testing/random_graph.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/passes/graph_edit.h"
#include "ops/shape_inference.h"

namespace edgekiln::compiler {

Graph RandomGraph::Make() {
  graph_.name = "random";
  for (int i = 0; i < 2; ++i) {
    const TensorId input =
        Activation({1, 1 + Below(3), 1 + Below(4), 1 + Below(4)});
    graph_.inputs.push_back(input);
    pool_.push_back(input);
  }
  const int ops = 2 + static_cast<int>(Below(kMaxOps));
  for (int i = 0; i < ops; ++i) AddRandomOp();
  graph_.outputs.push_back(pool_.back());
  if (Below(3) == 0 && pool_.size() > 4) {
    const TensorId other = pool_[pool_.size() - 2];
    graph_.outputs.push_back(other);
  }
  return std::move(graph_);
}

Quantization RandomGraph::RandomQuantization() {
  return {.scale = {static_cast<float>(1 + Below(60)) / 256},
          .zero_point = {static_cast<int32_t>(Below(40)) - 20},
          .axis = 0};
}

TensorId RandomGraph::Add(Tensor tensor) {
  tensor.name = absl::StrCat("t", graph_.tensors.size());
  graph_.tensors.push_back(std::move(tensor));
  return static_cast<TensorId>(graph_.tensors.size()) - 1;
}

TensorId RandomGraph::Activation(std::vector<int64_t> shape) {
  Tensor tensor;
  tensor.type = quantized_ ? v1::INT8 : v1::FLOAT32;
  tensor.shape = std::move(shape);
  if (quantized_) tensor.quantization = RandomQuantization();
  return Add(std::move(tensor));
}

TensorId RandomGraph::FloatConstant(std::vector<int64_t> shape, bool positive) {
  Tensor like;
  like.shape = shape;
  std::vector<float> values(static_cast<size_t>(like.num_elements()));
  for (float& value : values) {
    value = positive ? static_cast<float>(1 + Below(16)) / 8 : Real();
  }
  return Add(FloatTensorLike(like, std::move(shape), values));
}

TensorId RandomGraph::Constant(std::vector<int64_t> shape, int64_t channels,
                               int axis) {
  if (!quantized_) return FloatConstant(std::move(shape));
  Tensor tensor;
  tensor.type = v1::INT8;
  tensor.shape = std::move(shape);
  Quantization q = RandomQuantization();
  if (channels > 0) {
    q = {.scale = {}, .zero_point = {}, .axis = axis};
    for (int64_t c = 0; c < channels; ++c) {
      q.scale.push_back(static_cast<float>(1 + Below(60)) / 512);
      q.zero_point.push_back(0);
    }
  }
  tensor.quantization = std::move(q);
  std::string data;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    data.push_back(static_cast<char>(random_.Next()));
  }
  tensor.data = ConstantData(std::move(data));
  return Add(std::move(tensor));
}

TensorId RandomGraph::Pick() {
  return pool_[static_cast<size_t>(Below(static_cast<int64_t>(pool_.size())))];
}

void RandomGraph::Emit(v1::OpAttributes attributes,
                       std::vector<TensorId> inputs, bool moves) {
  std::vector<ops::TensorView> views;
  for (const TensorId id : inputs) {
    const Tensor& tensor = graph_.tensors[id];
    views.push_back({.type = tensor.type,
                     .shape = tensor.shape,
                     .data = {},
                     .quantization = {}});
  }
  const auto shapes = ops::InferShapes(attributes, views);
  if (!shapes.ok()) return;
  EmitTo(std::move(attributes), std::move(inputs), shapes->front(), moves);
}

void RandomGraph::EmitTo(v1::OpAttributes attributes,
                         std::vector<TensorId> inputs,
                         std::vector<int64_t> shape, bool moves) {
  Op op;
  op.id = absl::StrCat("op", graph_.ops.size());
  op.attributes = std::move(attributes);
  op.inputs = std::move(inputs);
  op.outputs = {Activation(std::move(shape))};
  if (moves) {
    graph_.tensors[op.outputs[0]].quantization =
        graph_.tensors[op.inputs[0]].quantization;
  }
  pool_.push_back(op.outputs[0]);
  graph_.ops.push_back(std::move(op));
  if (VerifyGraph(graph_).ok()) return;
  // Refused for a reason the shapes do not tell: do without.
  graph_.ops.pop_back();
  pool_.pop_back();
}

v1::Window2d RandomGraph::Window(int64_t max_pad) {
  v1::Window2d window;
  window.set_stride_h(1 + static_cast<int32_t>(Below(2)));
  window.set_stride_w(1);
  window.set_dilation_h(1);
  window.set_dilation_w(1);
  window.set_pad_top(static_cast<int32_t>(Below(max_pad + 1)));
  window.set_pad_right(static_cast<int32_t>(Below(max_pad + 1)));
  return window;
}

void RandomGraph::RandomClamp(v1::Clamp* clamp) {
  if (Below(2) == 0) clamp->set_min(0);
  if (Below(3) == 0) clamp->set_max(1 + static_cast<float>(Below(4)));
}

void RandomGraph::AddTranspose(TensorId x) {
  static constexpr int kOrders[][4] = {
      {0, 3, 1, 2}, {0, 2, 3, 1}, {0, 1, 3, 2}, {0, 3, 1, 2}};
  v1::OpAttributes attributes;
  const auto& order = kOrders[Below(4)];
  for (const int from : order) {
    attributes.mutable_transpose()->add_permutation(from);
  }
  if (Shape(x).size() == 4) Emit(std::move(attributes), {x}, true);
}

void RandomGraph::AddConvolution(TensorId x) {
  if (Shape(x).size() != 4) return;
  const int64_t channels = Shape(x)[3];
  v1::OpAttributes attributes;
  if (Below(2) == 0) {
    const int64_t outputs = 1 + Below(3);
    *attributes.mutable_conv2d()->mutable_window() = Window(1);
    if (Below(3) == 0)
      RandomClamp(attributes.mutable_conv2d()->mutable_clamp());
    Emit(std::move(attributes),
         {x, Constant({outputs, 1 + Below(2), 1 + Below(2), channels}, outputs,
                      0)});
  } else {
    v1::DepthwiseConv2d* conv = attributes.mutable_depthwise_conv2d();
    *conv->mutable_window() = Window(1);
    conv->set_depth_multiplier(1 + static_cast<int32_t>(Below(2)));
    const int64_t outputs = channels * conv->depth_multiplier();
    Emit(std::move(attributes),
         {x, Constant({1, 1 + Below(2), 1 + Below(2), outputs}, outputs, 3)});
  }
}

void RandomGraph::AddPool(TensorId x) {
  if (Shape(x).size() != 4) return;
  v1::OpAttributes attributes;
  const auto fill = [&](auto* pool) {
    pool->set_kernel_h(2);
    pool->set_kernel_w(2);
    *pool->mutable_window() = Window(1);
    if (Below(3) == 0) RandomClamp(pool->mutable_clamp());
  };
  if (Below(2) == 0) {
    fill(attributes.mutable_max_pool2d());
  } else {
    fill(attributes.mutable_average_pool2d());
  }
  Emit(std::move(attributes), {x}, true);
}

void RandomGraph::AddBinary(TensorId x) {
  v1::OpAttributes attributes;
  if (Below(2) == 0) {
    attributes.mutable_add();
  } else {
    attributes.mutable_mul();
  }
  std::vector<int64_t> shape = Shape(x);
  switch (Below(4)) {
    case 0:
      Emit(std::move(attributes), {x, Pick()});
      return;
    case 1:
      Emit(std::move(attributes), {x, Constant({shape.back()})});
      return;
    case 2:
      Emit(std::move(attributes), {Constant(shape), x});
      return;
    default:
      Emit(std::move(attributes), {x, x});
  }
}

void RandomGraph::AddFullyConnected(TensorId x) {
  if (Shape(x).size() == 4 && Below(2) == 0) {
    const std::vector<int64_t> s = Shape(x);
    EmitTo(ReshapeAttributes(), {x}, {s[0], s[1] * s[2] * s[3]}, true);
    x = pool_.back();
  }
  const int64_t inputs = Shape(x).back();
  v1::OpAttributes attributes;
  attributes.mutable_fully_connected();
  Emit(std::move(attributes), {x, Constant({2, inputs}, 2, 0)});
}

void RandomGraph::AddReshape(TensorId x) {
  std::vector<int64_t> shape = Shape(x);
  switch (Below(3)) {
    case 0:
      std::swap(shape.front(), shape.back());
      break;
    case 1:
      shape = {1, 1, 1, graph_.tensors[x].num_elements()};
      break;
    default: {
      // Any number of dimensions, each factor in any of them.
      int64_t elements = graph_.tensors[x].num_elements();
      shape.assign(static_cast<size_t>(1 + Below(6)), 1);
      for (int64_t factor = 2; elements > 1; ++factor) {
        for (; elements % factor == 0; elements /= factor) {
          shape[static_cast<size_t>(Below(std::ssize(shape)))] *= factor;
        }
      }
    }
  }
  EmitTo(ReshapeAttributes(), {x}, std::move(shape), true);
}

void RandomGraph::AddPad(TensorId x) {
  v1::OpAttributes attributes;
  v1::Pad* pad = attributes.mutable_pad();
  for (size_t i = 0; i < Shape(x).size(); ++i) {
    const bool spatial = i == 1 || i == 2;
    pad->add_before(spatial || Below(4) == 0 ? Below(2) : 0);
    pad->add_after(spatial ? Below(2) : 0);
  }
  if (Below(4) == 0) pad->set_value(Real());
  Emit(std::move(attributes), {x}, true);
}

void RandomGraph::AddAxisOp(TensorId x) {
  const int64_t rank = static_cast<int64_t>(Shape(x).size());
  v1::OpAttributes attributes;
  switch (Below(3)) {
    case 0:
      attributes.mutable_softmax()->set_beta(1);
      attributes.mutable_softmax()->set_axis(static_cast<int32_t>(Below(rank)));
      Emit(std::move(attributes), {x});
      return;
    case 1: {
      attributes.mutable_concat()->set_axis(static_cast<int32_t>(Below(rank)));
      Emit(std::move(attributes), {x, Below(2) == 0 ? x : Pick()});
      return;
    }
    default:
      attributes.mutable_reduce_mean()->set_keep_dims(Below(2) == 0);
      for (int32_t i = 1; i < rank; ++i) {
        if (Below(2) == 0) attributes.mutable_reduce_mean()->add_axes(i);
      }
      Emit(std::move(attributes), {x});
  }
}

void RandomGraph::AddNormalization(TensorId x) {
  if (quantized_) return;
  const int32_t axis =
      static_cast<int32_t>(Below(static_cast<int64_t>(Shape(x).size())));
  const int64_t channels = Shape(x)[axis];
  v1::OpAttributes attributes;
  attributes.mutable_batch_normalization()->set_epsilon(1e-3f);
  attributes.mutable_batch_normalization()->set_axis(axis);
  Emit(std::move(attributes),
       {x, FloatConstant({channels}), FloatConstant({channels}),
        FloatConstant({channels}), FloatConstant({channels}, true)});
}

void RandomGraph::AddRandomOp() {
  // Mostly chains, so that neighbours meet.
  const TensorId x = Below(3) == 0 ? Pick() : pool_.back();
  if (Shape(x).empty()) return;
  switch (Below(11)) {
    case 0:
    case 1:
      return AddTranspose(x);
    case 2: {
      v1::OpAttributes attributes;
      RandomClamp(attributes.mutable_clip()->mutable_clamp());
      return Emit(std::move(attributes), {x}, Below(3) != 0);
    }
    case 3:
      return AddConvolution(x);
    case 4:
      return AddPool(x);
    case 5:
      return AddBinary(x);
    case 6:
      return AddFullyConnected(x);
    case 7:
      return AddReshape(x);
    case 8:
      return AddPad(x);
    case 9:
      return AddAxisOp(x);
    default:
      return AddNormalization(x);
  }
}

}  // namespace edgekiln::compiler
