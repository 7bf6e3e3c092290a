#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "compiler/codegen/c/testing/op_maker.h"

namespace edgekiln::compiler {

bool OpMaker::MakeMovement(const std::string& kind) {
  Shape shape = RandomShape(1 + Below(4), 4);
  const int64_t rank = std::ssize(shape);
  if (kind == "reshape") {
    op_.mutable_reshape();
    int64_t elements = 1;
    for (const int64_t extent : shape) elements *= extent;
    EmitShaped({Either(shape)}, {{elements, 1}}, 1, type_);
    return true;
  }
  if (kind == "transpose") {
    std::vector<int32_t> order;
    for (int32_t d = 0; d < rank; ++d) order.push_back(d);
    random_.Shuffle(order);
    for (const int32_t d : order) op_.mutable_transpose()->add_permutation(d);
    Emit({Input(shape)}, 1);
    return true;
  }
  if (kind == "pad") {
    v1::Pad& pad = *op_.mutable_pad();
    pad.set_mode(static_cast<v1::Pad::Mode>(Below(5)));
    for (int64_t d = 0; d < rank; ++d) {
      pad.add_before(Below(3));
      pad.add_after(Below(3));
    }
    if (OneOf(2)) pad.set_value(1);
    Emit({Input(shape)}, 1);
    return true;
  }
  if (kind == "concat") {
    const int64_t axis = Below(rank);
    op_.mutable_concat()->set_axis(static_cast<int32_t>(axis));
    if (quantized_ && OneOf(3)) op_.set_rounding(v1::HALF_EVEN);
    std::vector<TensorId> inputs;
    for (int64_t i = 1 + Below(3); i > 0; --i) {
      shape[static_cast<size_t>(axis)] = 1 + Below(4);
      inputs.push_back(Either(shape));
      if (!quantized_ || OneOf(2)) SameQuantization(inputs[0], inputs.back());
    }
    Emit(std::move(inputs), 1);
    return true;
  }
  if (kind == "slice") {
    v1::Slice& slice = *op_.mutable_slice();
    for (const int64_t extent : shape) {
      const int64_t begin = Below(extent);
      const bool back = OneOf(3);
      slice.add_begin(begin);
      slice.add_stride(back ? -1 : 1 + Below(2));
      const int64_t room =
          back ? begin + 1
               : (extent - begin + slice.stride().at(slice.stride_size() - 1) -
                  1) /
                     slice.stride().at(slice.stride_size() - 1);
      slice.add_extent(1 + Below(room));
    }
    Emit({Input(shape)}, 1);
    return true;
  }
  if (kind == "broadcast_to") {
    Shape x = shape;
    for (int64_t& extent : x) {
      if (OneOf(2)) extent = 1;
    }
    for (const int64_t extent : shape)
      op_.mutable_broadcast_to()->add_shape(extent);
    Emit({Input(x)}, 1);
    return true;
  }
  if (kind != "tile") return false;
  for (int64_t d = 0; d < rank; ++d)
    op_.mutable_tile()->add_multiples(1 + Below(3));
  Emit({Input(shape)}, 1);
  return true;
}

bool OpMaker::MakeIndexed(const std::string& kind) {
  const Shape shape = RandomShape(2 + Below(2), 4);
  const int64_t rank = std::ssize(shape);
  const auto axis = static_cast<int32_t>(Below(rank));
  if (kind == "gather") {
    op_.mutable_gather()->set_axis(axis);
    if (axis > 0 && OneOf(3)) op_.mutable_gather()->set_batch_dims(1);
    Shape indices = RandomShape(1 + Below(2), 3);
    if (op_.gather().batch_dims() == 1)
      indices.insert(indices.begin(), shape[0]);
    Emit({Input(shape), Indices(indices, shape[axis])}, 1);
    return true;
  }
  if (kind == "gather_elements" || kind == "scatter_elements") {
    Shape indices = shape;
    for (int64_t& extent : indices) extent = 1 + Below(extent);
    const TensorId x = Input(shape);
    const TensorId i = Indices(indices, shape[axis]);
    if (kind == "gather_elements") {
      op_.mutable_gather_elements()->set_axis(axis);
      Emit({x, i}, 1);
      return true;
    }
    op_.mutable_scatter_elements()->set_axis(axis);
    op_.mutable_scatter_elements()->set_reduction(
        static_cast<v1::ScatterReduction>(Below(5)));
    const TensorId updates = Input(indices);
    SameQuantization(x, updates);
    Emit({x, i, updates}, 1);
    return true;
  }
  if (kind == "gather_nd" || kind == "scatter_nd") {
    const int64_t least = *std::min_element(shape.begin(), shape.end());
    const int64_t batch = kind == "gather_nd" && OneOf(3) ? 1 : 0;
    const int64_t length = 1 + Below(rank - batch);
    Shape indices{1 + Below(3), length};
    if (batch == 1) indices.insert(indices.begin(), shape[0]);
    const TensorId x = Input(shape);
    const TensorId i = Indices(indices, least);
    if (kind == "gather_nd") {
      op_.mutable_gather_nd()->set_batch_dims(static_cast<int32_t>(batch));
      Emit({x, i}, 1);
      return true;
    }
    op_.mutable_scatter_nd()->set_reduction(
        static_cast<v1::ScatterReduction>(Below(5)));
    Shape updates{indices[0]};
    updates.insert(updates.end(), shape.begin() + length, shape.end());
    const TensorId u = Input(updates);
    SameQuantization(x, u);
    Emit({x, i, u}, 1);
    return true;
  }
  if (kind == "reverse_sequence") {
    v1::ReverseSequence& op = *op_.mutable_reverse_sequence();
    op.set_batch_axis(static_cast<int32_t>(Below(2)));
    op.set_time_axis(1 - op.batch_axis());
    Emit({Input(shape), InputOf({shape[op.batch_axis()]}, v1::INT32, false,
                                absl::StrCat("n#", shape[op.time_axis()]))},
         1);
    return true;
  }
  if (kind != "grid_sample") return false;
  v1::GridSample& op = *op_.mutable_grid_sample();
  op.set_mode(static_cast<v1::GridSample::Mode>(Below(3)));
  op.set_padding(static_cast<v1::GridSample::Padding>(Below(3)));
  op.set_align_corners(OneOf(2));
  Emit({Input({2, 1 + Below(4), 1 + Below(4), 1 + Below(3)}),
        Input({2, 1 + Below(3), 1 + Below(3), 2})});
  return true;
}

bool OpMaker::MakeReduction(const std::string& kind) {
  const Shape shape = RandomShape(1 + Below(4), 5);
  const int64_t rank = std::ssize(shape);
  const std::vector<std::string> parts = absl::StrSplit(kind, '/');
  const auto fill = [&](auto* op) {
    for (int32_t d = 0; d < rank; ++d) {
      if (OneOf(2)) op->add_axes(d);
    }
    op->set_keep_dims(OneOf(2));
  };
  if (kind == "reduce_mean") {
    fill(op_.mutable_reduce_mean());
    if (quantized_ && OneOf(3)) op_.set_rounding(v1::HALF_EVEN);
    Emit({Input(shape)});
    return true;
  }
  if (parts[0] == "reduce") {
    v1::Reduce::Function function;
    if (!v1::Reduce::Function_Parse(parts[1], &function)) return false;
    fill(op_.mutable_reduce());
    op_.mutable_reduce()->set_function(function);
    const bool sum = function == v1::Reduce::SUM;
    if (quantized_ && sum && OneOf(3)) op_.set_rounding(v1::HALF_EVEN);
    Emit({Input(shape)}, sum ? 0 : 1);
    return true;
  }
  const auto axis = static_cast<int32_t>(Below(rank));
  if (kind == "arg_reduce") {
    v1::ArgReduce& op = *op_.mutable_arg_reduce();
    op.set_function(static_cast<v1::ArgReduce::Function>(1 + Below(2)));
    op.set_axis(axis);
    op.set_keep_dims(OneOf(2));
    op.set_select_last(OneOf(2));
    Emit({Input(shape)}, 0, OneOf(2) ? v1::INT32 : v1::INT64);
    for (const TensorId id : graph_.ops.back().outputs)
      Of(id).quantization.reset();
    return true;
  }
  if (kind == "top_k") {
    op_.mutable_top_k()->set_k(1 + Below(shape[axis]));
    op_.mutable_top_k()->set_axis(axis);
    op_.mutable_top_k()->set_smallest(OneOf(2));
    Emit({Input(shape)}, 1);
    return true;
  }
  if (kind != "cum_sum") return false;
  op_.mutable_cum_sum()->set_axis(axis);
  op_.mutable_cum_sum()->set_exclusive(OneOf(2));
  op_.mutable_cum_sum()->set_reverse(OneOf(2));
  quantized_ = false;
  Emit({Input(shape)});
  return true;
}

bool OpMaker::MakeNormalization(const std::string& kind) {
  const Shape shape = RandomShape(1 + Below(3), 6);
  const auto axis = static_cast<int32_t>(Below(std::ssize(shape)));
  if (quantized_ && OneOf(3) &&
      (kind == "softmax" || kind == "log_softmax" ||
       kind == "l2_normalization")) {
    op_.set_rounding(v1::HALF_EVEN);
  }
  if (kind == "softmax") {
    op_.mutable_softmax()->set_axis(axis);
    op_.mutable_softmax()->set_beta(OneOf(2) ? 1.0f : 0.7f);
    Emit({Input(shape)});
  } else if (kind == "log_softmax") {
    op_.mutable_log_softmax()->set_axis(axis);
    Emit({Input(shape)});
  } else if (kind == "l2_normalization") {
    op_.mutable_l2_normalization()->set_axis(axis);
    op_.mutable_l2_normalization()->set_epsilon(1e-6f);
    Emit({Input(shape)});
    if (quantized_ && OneOf(2) && !graph_.ops.empty()) {
      Of(graph_.ops.back().outputs[0]).quantization = {
          .scale = {1.0f / 128},
          .zero_point = {type_ == v1::UINT8 ? 128 : 0},
          .axis = 0};
    }
  } else if (kind == "batch_normalization") {
    op_.mutable_batch_normalization()->set_axis(axis);
    op_.mutable_batch_normalization()->set_epsilon(3);
    std::vector<TensorId> inputs{Input(shape)};
    for (int i = 0; i < 4; ++i) {
      inputs.push_back(ConstantOf({shape[axis]}, type_, quantized_));
    }
    Emit(std::move(inputs));
  } else if (kind == "local_response_normalization") {
    v1::LocalResponseNormalization& op =
        *op_.mutable_local_response_normalization();
    op.set_axis(axis);
    op.set_size(static_cast<int32_t>(1 + Below(5)));
    op.set_alpha(0.3f);
    op.set_beta(0.75f);
    op.set_bias(1);
    Emit({Input(shape)});
  } else if (kind == "layer_normalization") {
    op_.mutable_layer_normalization()->set_axis(axis);
    op_.mutable_layer_normalization()->set_epsilon(1e-5f);
    const Shape rest(shape.begin() + axis, shape.end());
    std::vector<TensorId> inputs{Input(shape)};
    inputs.push_back(OneOf(3) ? kNoTensor : Input(rest));
    if (OneOf(2)) inputs.push_back(Input(rest));
    Emit(std::move(inputs));
  } else {
    return false;
  }
  return true;
}

bool OpMaker::MakeResize() {
  v1::Resize& op = *op_.mutable_resize();
  const int64_t rank = OneOf(3) ? 2 : 4;
  const Shape x = rank == 2
                      ? RandomShape(2, 5)
                      : Shape{1, 1 + Below(5), 1 + Below(5), 1 + Below(3)};
  op.set_mode(static_cast<v1::Resize::Mode>(Below(3)));
  op.set_coordinates(static_cast<v1::Resize::Coordinates>(Below(7)));
  op.set_nearest_rounding(static_cast<v1::Resize::NearestRounding>(Below(4)));
  op.set_cubic_coeff_a(-0.75f);
  op.set_exclude_outside(OneOf(4));
  op.set_antialias(OneOf(4));
  op.set_extrapolation_value(1.5f);
  for (int64_t d = 0; d < rank; ++d) {
    const bool spatial = rank == 2 || d == 1 || d == 2;
    op.add_shape(spatial ? 1 + Below(7) : x[d]);
  }
  if (op.coordinates() == v1::Resize::TF_CROP_AND_RESIZE) {
    for (int64_t d = 0; d < rank; ++d)
      op.add_roi(-0.1f * static_cast<float>(Below(2)));
    for (int64_t d = 0; d < rank; ++d) op.add_roi(1);
  } else if (quantized_ && OneOf(3)) {
    op_.set_rounding(v1::HALF_EVEN);
  }
  Emit({Input(x)}, 1);
  return true;
}

}  // namespace edgekiln::compiler
