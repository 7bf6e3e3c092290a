// Fourier transforms as products with constant matrices, and the constants that
// audio front ends hold.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/axes.h"
#include "compiler/frontend/onnx/converters.h"
#include "compiler/frontend/onnx/ir_ops.h"
#include "compiler/frontend/onnx/tensor_data.h"
#include "compiler/frontend/onnx/type_attribute.h"
#include "ops/exp.h"
#include "ops/real_math.h"
#include "ops/trigonometry.h"

namespace edgekiln::compiler::onnx_import {
namespace {

constexpr double kTwoPi = 0x1.921fb54442d18p+2;
constexpr int64_t kMaxExtent = 1 << 16;

// A constant of `type` with these values.
absl::StatusOr<TensorId> RealConstant(const Node& node, Builder& builder,
                                      absl::string_view name,
                                      std::vector<int64_t> shape,
                                      const std::vector<double>& values,
                                      v1::ElementType type) {
  Tensor constant;
  constant.name = absl::StrCat(builder.prefix(), node.main_output(), ".", name);
  constant.type = v1::FLOAT64;
  constant.shape = std::move(shape);
  constant.data =
      ConstantData(std::string(reinterpret_cast<const char*>(values.data()),
                               values.size() * sizeof(double)));
  return builder.Cast(node, absl::StrCat(name, "-values"),
                      builder.AddConstant(std::move(constant)), type);
}

absl::StatusOr<int64_t> Extent(const Node& node, const Builder& builder,
                               int index, absl::string_view what) {
  EK_ASSIGN_OR_RETURN(const double given, builder.ConstantNumber(node, index));
  if (given >= 1 && given <= kMaxExtent && std::floor(given) == given) {
    return static_cast<int64_t>(given);
  }
  return node.Unsupported(absl::StrFormat("%s %.17g", what, given),
                          absl::StrCat("1 to ", kMaxExtent),
                          "check what it is computed from");
}

struct Transform {
  int64_t length = 0;
  bool inverse = false;
  bool onesided = false;

  int64_t results() const { return onesided ? length / 2 + 1 : length; }
};

// [rows * parts, results * 2]: from real and perhaps imaginary parts to both.
std::vector<double> FourierMatrix(const Transform& t, int64_t rows,
                                  int64_t parts) {
  std::vector<double> matrix;
  const double scale = t.inverse ? 1.0 / static_cast<double>(t.length) : 1.0;
  for (int64_t n = 0; n < rows; ++n) {
    for (int64_t part = 0; part < parts; ++part) {
      for (int64_t k = 0; k < t.results(); ++k) {
        // The whole turns are taken off in integers.
        const double turn = static_cast<double>(n * k % t.length) /
                            static_cast<double>(t.length);
        const double cosine = ops::Cos(kTwoPi * turn) * scale;
        const double sine = ops::Sin(kTwoPi * turn) * scale;
        const double signed_sine = t.inverse ? sine : -sine;
        matrix.push_back(part == 0 ? cosine : -signed_sine);
        matrix.push_back(part == 0 ? signed_sine : cosine);
      }
    }
  }
  return matrix;
}

// `x` [..., extent, 1 or 2] to [..., results, 2].
absl::StatusOr<TensorId> Transformed(const Node& node, Builder& builder,
                                     const Transform& t, TensorId x) {
  std::vector<int64_t> shape = builder.shape(x);
  const size_t axis = shape.size() - 2;
  const int64_t parts = shape.back();
  if (parts != 1 && parts != 2) {
    return node.Invalid("the last dimension is not 1 or 2");
  }
  if (shape[axis] > t.length) {  // Zeros behind the end change nothing.
    const std::vector<int64_t> zeros(shape.size(), 0), ones(shape.size(), 1);
    shape[axis] = t.length;
    EK_ASSIGN_OR_RETURN(
        x, builder.Emit(node, "cut", SliceOp(zeros, shape, ones), {x}));
  }
  const int64_t depth = shape[axis] * parts;
  const int64_t width = t.results() * 2;
  if (!builder.MayMake(depth * width * 8)) {
    return node.Unsupported(
        absl::StrCat("a transform of length ", t.length),
        "a matrix of that size within what the model's size allows",
        "compute it outside the network");
  }
  EK_ASSIGN_OR_RETURN(const TensorId matrix,
                      RealConstant(node, builder, "matrix", {depth, width},
                                   FourierMatrix(t, shape[axis], parts),
                                   builder.tensor(x).type));
  const int64_t rows =
      depth == 0 ? 0 : builder.tensor(x).num_elements() / depth;
  EK_ASSIGN_OR_RETURN(x, builder.Reshape(node, "rows", x, {rows, depth}));
  EK_ASSIGN_OR_RETURN(TensorId y,
                      builder.Emit(node, "", MatMulOp(), {x, matrix}));
  shape[axis] = t.results();
  shape.back() = 2;
  return builder.Reshape(node, "unrows", y, std::move(shape));
}

// a0 - a1 cos(2 pi i / N) + a2 cos(4 pi i / N)
absl::Status BindWindow(const Node& node, Builder& builder, double a0,
                        double a1, double a2) {
  EK_ASSIGN_OR_RETURN(const int64_t size, Extent(node, builder, 0, "size"));
  EK_ASSIGN_OR_RETURN(const bool periodic, node.Flag("periodic", true));
  EK_ASSIGN_OR_RETURN(const v1::ElementType type,
                      TypeAttribute(node, "output_datatype", 1));
  const int64_t period = periodic ? size : size - 1;
  std::vector<double> values;
  for (int64_t i = 0; i < size; ++i) {
    if (period == 0) {
      values.push_back(1);
      continue;
    }
    const double angle =
        kTwoPi * static_cast<double>(i) / static_cast<double>(period);
    values.push_back(a0 - a1 * ops::Cos(angle) + a2 * ops::Cos(2 * angle));
  }
  EK_ASSIGN_OR_RETURN(const TensorId y, RealConstant(node, builder, "window",
                                                     {size}, values, type));
  return builder.Bind(node, 0, y);
}

// Where the triangles of a mel scale begin, end and have their tips, as bins of
// the spectrum.
std::vector<int64_t> MelBins(int64_t bands, int64_t length, double rate,
                             double low_hertz, double high_hertz) {
  const double ln10 = ops::Log(10);
  const double low = 2595 * ops::Log(1 + low_hertz / 700) / ln10;
  const double high = 2595 * ops::Log(1 + high_hertz / 700) / ln10;
  const double step = (high - low) / static_cast<double>(bands + 2);
  std::vector<int64_t> bins;
  bins.reserve(static_cast<size_t>(bands + 2));
  for (int64_t i = 0; i < bands + 2; ++i) {
    const double mel = static_cast<double>(i) * step + low;
    const double hertz = 700 * (ops::Exp(mel / 2595 * ln10) - 1);
    bins.push_back(static_cast<int64_t>(
        std::floor(static_cast<double>(length + 1) * hertz / rate)));
  }
  return bins;
}

}  // namespace

absl::Status ConvertDft(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(TensorId x, builder.FloatInput(node, 0));
  const int64_t rank = builder.rank(x);
  if (rank < 2) return node.Invalid("the input has no parts of numbers");
  int64_t given = -2;
  if (node.opset() < 20) {
    EK_ASSIGN_OR_RETURN(given, node.Int("axis", 1));
  } else if (node.has_input(2)) {
    EK_ASSIGN_OR_RETURN(const double number, builder.ConstantNumber(node, 2));
    if (!(std::fabs(number) <= kMaxExtent)) {
      return node.Invalid(absl::StrCat("axis ", number));
    }
    given = static_cast<int64_t>(number);
  }
  EK_ASSIGN_OR_RETURN(const int32_t axis, CheckedAxis(node, given, rank));
  if (axis == rank - 1) return node.Invalid("the axis is that of the parts");
  Transform t;
  EK_ASSIGN_OR_RETURN(t.inverse, node.Flag("inverse", false));
  EK_ASSIGN_OR_RETURN(t.onesided, node.Flag("onesided", false));
  if (t.inverse && t.onesided) {
    return node.Unsupported("a one-sided inverse", "both sides",
                            "export with onesided = 0");
  }
  t.length = builder.shape(x)[axis];
  if (node.has_input(1)) {
    EK_ASSIGN_OR_RETURN(t.length, Extent(node, builder, 1, "length"));
  }
  if (t.length < 1) return node.Invalid("the input is empty");
  if (t.length > kMaxExtent) {
    return node.TooLarge(absl::StrCat("a transform of length ", t.length));
  }
  std::vector<int32_t> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[axis], order[rank - 2]);  // Its own inverse.
  EK_ASSIGN_OR_RETURN(x, builder.Transpose(node, "turned", x, order));
  EK_ASSIGN_OR_RETURN(TensorId y, Transformed(node, builder, t, x));
  EK_ASSIGN_OR_RETURN(y, builder.Transpose(node, "unturned", y, order));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertStft(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(TensorId x, builder.FloatInput(node, 0));
  EK_ASSIGN_OR_RETURN(const int64_t step, Extent(node, builder, 1, "step"));
  const std::vector<int64_t> shape = builder.shape(x);
  if (shape.size() != 3) return node.Invalid("the signal has not 3 dimensions");
  Transform t;
  EK_ASSIGN_OR_RETURN(t.onesided, node.Flag("onesided", true));
  TensorId window = kNoTensor;
  if (node.has_input(2)) {
    EK_ASSIGN_OR_RETURN(window, builder.FloatInput(node, 2));
    t.length = builder.tensor(window).num_elements();
    EK_ASSIGN_OR_RETURN(window,
                        builder.Reshape(node, "window", window, {t.length, 1}));
  }
  if (node.has_input(3)) {
    EK_ASSIGN_OR_RETURN(t.length, Extent(node, builder, 3, "frame length"));
  }
  if (t.length < 1 || t.length > shape[1]) {
    return node.Invalid(absl::StrCat("frames of ", t.length, " of ", shape[1]));
  }
  const int64_t frames = (shape[1] - t.length) / step + 1;
  if (!builder.MayMake(8 * t.length) || !builder.MayMake(8 * frames) ||
      !builder.MayMake(8 * t.length * frames)) {
    return node.TooLarge(absl::StrCat(frames, " frames of ", t.length));
  }
  std::vector<int64_t> at;
  for (int64_t f = 0; f < frames; ++f) {
    for (int64_t i = 0; i < t.length; ++i) at.push_back(f * step + i);
  }
  const TensorId indices = builder.AddConstant(
      Int64Constant(absl::StrCat(builder.prefix(), node.main_output(), ".at"),
                    {frames, t.length}, at));
  v1::OpAttributes gather;
  gather.mutable_gather()->set_axis(1);
  EK_ASSIGN_OR_RETURN(
      x, builder.Emit(node, "frames", std::move(gather), {x, indices}));
  if (window != kNoTensor) {
    EK_ASSIGN_OR_RETURN(x, builder.Emit(node, "weighed", MulOp(), {x, window}));
  }
  EK_ASSIGN_OR_RETURN(const TensorId y, Transformed(node, builder, t, x));
  return builder.Bind(node, 0, y);
}

absl::Status ConvertHannWindow(const Node& node, Builder& builder) {
  return BindWindow(node, builder, 0.5, 0.5, 0);
}

absl::Status ConvertHammingWindow(const Node& node, Builder& builder) {
  return BindWindow(node, builder, 25.0 / 46, 21.0 / 46, 0);
}

absl::Status ConvertBlackmanWindow(const Node& node, Builder& builder) {
  return BindWindow(node, builder, 0.42, 0.5, 0.08);
}

absl::Status ConvertMelWeightMatrix(const Node& node, Builder& builder) {
  EK_ASSIGN_OR_RETURN(const int64_t bands, Extent(node, builder, 0, "bands"));
  EK_ASSIGN_OR_RETURN(const int64_t length, Extent(node, builder, 1, "length"));
  EK_ASSIGN_OR_RETURN(const double rate, builder.ConstantNumber(node, 2));
  EK_ASSIGN_OR_RETURN(const double low, builder.ConstantNumber(node, 3));
  EK_ASSIGN_OR_RETURN(const double high, builder.ConstantNumber(node, 4));
  EK_ASSIGN_OR_RETURN(const v1::ElementType type,
                      TypeAttribute(node, "output_datatype", 1));
  const int64_t rows = length / 2 + 1;
  if (!(low >= 0 && high > low && high <= rate / 2 && rate < 1e9)) {
    return node.Invalid(absl::StrCat("bands from ", low, " to ", high,
                                     " Hz of ", rate, " samples a second"));
  }
  if (!builder.MayMake(rows * bands * 8)) {
    return node.TooLarge(absl::StrCat(rows, " x ", bands, " weights"));
  }
  const std::vector<int64_t> bins = MelBins(bands, length, rate, low, high);
  std::vector<double> weights(static_cast<size_t>(rows * bands), 0);
  const auto weight = [&](int64_t bin, int64_t band) -> double& {
    return weights[std::min(bin, rows - 1) * bands + band];
  };
  for (int64_t band = 0; band < bands; ++band) {
    const int64_t begin = bins[band], tip = bins[band + 1];
    const int64_t end = bins[band + 2];
    if (begin == tip) weight(tip, band) = 1;
    for (int64_t bin = begin; bin <= tip && begin < tip; ++bin) {
      weight(bin, band) =
          static_cast<double>(bin - begin) / static_cast<double>(tip - begin);
    }
    for (int64_t bin = tip; bin < end; ++bin) {
      weight(bin, band) =
          static_cast<double>(end - bin) / static_cast<double>(end - tip);
    }
  }
  EK_ASSIGN_OR_RETURN(
      const TensorId y,
      RealConstant(node, builder, "weights", {rows, bands}, weights, type));
  return builder.Bind(node, 0, y);
}

}  // namespace edgekiln::compiler::onnx_import
