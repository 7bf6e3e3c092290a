// Ops that slide windows over spatial dimensions: NCHW in ONNX.

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/export/op_exporters.h"
#include "compiler/passes/transposed_tensor.h"

namespace edgekiln::compiler::onnx_export {
namespace {

struct WindowLists {
  std::vector<int64_t> stride, dilation;
  std::vector<int64_t> pads;  // Before each dimension, then after.
};

WindowLists ListsOf(const v1::Window2d& window) {
  return {{window.stride_h(), window.stride_w()},
          {window.dilation_h(), window.dilation_w()},
          {window.pad_top(), window.pad_left(), window.pad_bottom(),
           window.pad_right()}};
}

WindowLists ListsOf(const v1::Window& window) {
  WindowLists lists = {
      {window.stride().begin(), window.stride().end()},
      {window.dilation().begin(), window.dilation().end()},
      {window.pad_before().begin(), window.pad_before().end()}};
  lists.pads.insert(lists.pads.end(), window.pad_after().begin(),
                    window.pad_after().end());
  return lists;
}

bool IsDilated(const WindowLists& lists) {
  return std::any_of(lists.dilation.begin(), lists.dilation.end(),
                     [](int64_t dilation) { return dilation != 1; });
}

void SetWindow(onnx::NodeProto& node, const std::vector<int64_t>& kernel,
               const WindowLists& lists) {
  SetInts(node, "kernel_shape", kernel);
  SetInts(node, "strides", lists.stride);
  SetInts(node, "pads", lists.pads);
  if (IsDilated(lists)) SetInts(node, "dilations", lists.dilation);
}

// `weights` is the tensor turned to [outputs, inputs of a group, kernel...].
void Convolution(OpWriter& writer, std::string weights,
                 const std::vector<int64_t>& kernel, const WindowLists& lists,
                 int64_t groups) {
  writer.ChooseChannelsFirst();
  std::vector<std::string> inputs = {writer.In(0), std::move(weights)};
  if (writer.has_input(2)) inputs.push_back(writer.Bias());
  onnx::NodeProto& node = writer.Main("Conv", inputs);
  SetWindow(node, kernel, lists);
  if (groups > 1) SetInt(node, "group", groups);
}

Permutation LastToSecond(size_t rank) { return Inverse(ChannelsFirst(rank)); }

std::vector<int64_t> KernelOf(const Tensor& weights) {
  return {weights.shape.begin() + 1, weights.shape.end() - 1};
}

template <typename Pool>
void SetPool2d(onnx::NodeProto& node, const Pool& pool) {
  SetWindow(node, {pool.kernel_h(), pool.kernel_w()}, ListsOf(pool.window()));
}

// Constant weights [O, K..., C/G] as [C, O/G, K...].
Tensor TransposedConvWeights(Tensor weights, int64_t groups) {
  const std::vector<int64_t> shape = weights.shape;
  const size_t rank = shape.size();
  // [G, O/G, K..., C/G] to [G, C/G, O/G, K...], and the first two are one.
  weights.shape.front() /= groups;
  weights.shape.insert(weights.shape.begin(), groups);
  Permutation permutation = {0, static_cast<int32_t>(rank)};
  for (size_t i = 1; i < rank; ++i) {
    permutation.push_back(static_cast<int32_t>(i));
  }
  weights = TransposedTensor(weights, permutation);
  const int64_t channels = weights.shape[0] * weights.shape[1];
  weights.shape.erase(weights.shape.begin());
  weights.shape.front() = channels;
  return weights;
}

// In the order of v1::Resize's enums.
constexpr absl::string_view kModes[] = {"nearest", "linear", "cubic"};
constexpr absl::string_view kCoordinates[] = {
    "half_pixel",          "asymmetric",         "align_corners",
    "pytorch_half_pixel",  "tf_crop_and_resize", "half_pixel_symmetric",
    "tf_half_pixel_for_nn"};
constexpr absl::string_view kNearest[] = {"round_prefer_floor",
                                          "round_prefer_ceil", "floor", "ceil"};

// Whether the output extents are those that ONNX computes from the scales.
bool ScalesGiveShape(const v1::Resize& resize,
                     const std::vector<int64_t>& from) {
  if (resize.scale_size() != static_cast<int>(from.size())) return false;
  for (int i = 0; i < resize.scale_size(); ++i) {
    const double extent =
        std::floor(static_cast<double>(from[i]) * double{resize.scale(i)});
    if (extent != static_cast<double>(resize.shape(i))) return false;
  }
  return true;
}

// Resizes of an NHWC tensor that leave batch and channels alone are NCHW,
// which runtimes are fast at.
void ChooseResizeOrder(OpWriter& writer) {
  writer.ChooseOrder();
  const std::vector<int64_t>& from = writer.input(0).shape;
  const std::vector<int64_t>& to = writer.output().shape;
  if (from.size() >= 3 && from.front() == to.front() &&
      from.back() == to.back() && from[1] != to[1]) {
    writer.ChooseOrder(ChannelsFirst(from.size()));
  }
}

}  // namespace

absl::Status ExportConv2d(OpWriter& writer) {
  const v1::Conv2d& conv = writer.attributes().conv2d();
  Convolution(writer,
              writer.values().Permuted(writer.op().inputs[1], LastToSecond(4)),
              KernelOf(writer.input(1)), ListsOf(conv.window()), conv.groups());
  return absl::OkStatus();
}

absl::Status ExportDepthwiseConv2d(OpWriter& writer) {
  const v1::DepthwiseConv2d& conv = writer.attributes().depthwise_conv2d();
  Convolution(writer,
              writer.values().Permuted(writer.op().inputs[1], {3, 0, 1, 2}),
              KernelOf(writer.input(1)), ListsOf(conv.window()),
              writer.input(0).shape.back());
  return absl::OkStatus();
}

absl::Status ExportConv3d(OpWriter& writer) {
  const v1::Conv3d& conv = writer.attributes().conv3d();
  Convolution(writer,
              writer.values().Permuted(writer.op().inputs[1], LastToSecond(5)),
              KernelOf(writer.input(1)), ListsOf(conv.window()), conv.groups());
  return absl::OkStatus();
}

absl::Status ExportTransposedConv(OpWriter& writer) {
  const v1::TransposedConv& conv = writer.attributes().transposed_conv();
  const int64_t groups = std::max(1, conv.groups());
  Tensor weights = writer.input(1);
  if (!weights.is_constant()) {
    return writer.Unsupported("a transposed convolution with computed weights",
                              "constant weights", "make its weights constant");
  }
  if (weights.quantization.has_value() && weights.quantization->per_channel() &&
      groups > 1) {
    return writer.Unsupported(
        "a transposed convolution of groups with a scale per channel",
        "one scale, or one group", "give its weights one scale");
  }
  if (weights.quantization.has_value()) weights.quantization->axis += 1;
  const std::vector<int64_t> kernel = KernelOf(weights);
  weights = TransposedConvWeights(std::move(weights), groups);
  if (weights.quantization.has_value()) weights.quantization->axis -= 1;
  weights.name = writer.model().FreshValue(weights.name);
  writer.ChooseChannelsFirst();
  std::vector<std::string> inputs = {writer.In(0),
                                     writer.values().RealConstant(weights)};
  if (writer.has_input(2)) inputs.push_back(writer.Bias());
  onnx::NodeProto& node = writer.Main("ConvTranspose", inputs);
  SetWindow(node, kernel, ListsOf(conv.window()));
  SetInts(
      node, "output_padding",
      std::vector<int64_t>(conv.output_pad().begin(), conv.output_pad().end()));
  if (groups > 1) SetInt(node, "group", groups);
  return absl::OkStatus();
}

absl::Status ExportAveragePool2d(OpWriter& writer) {
  const v1::AveragePool2d& pool = writer.attributes().average_pool2d();
  writer.ChooseChannelsFirst();
  onnx::NodeProto& node = writer.Main("AveragePool", {writer.In(0)});
  SetPool2d(node, pool);
  if (pool.count_include_pad()) SetInt(node, "count_include_pad", 1);
  return absl::OkStatus();
}

absl::Status ExportMaxPool2d(OpWriter& writer) {
  writer.ChooseChannelsFirst();
  SetPool2d(writer.Main("MaxPool", {writer.In(0)}),
            writer.attributes().max_pool2d());
  return absl::OkStatus();
}

absl::Status ExportPool(OpWriter& writer) {
  const v1::Pool& pool = writer.attributes().pool();
  const WindowLists lists = ListsOf(pool.window());
  const bool is_maximum = pool.function() == v1::Pool::MAXIMUM;
  if (!is_maximum && IsDilated(lists)) {
    return writer.Unsupported("a dilated average", "dilated maxima only",
                              "use a depthwise convolution");
  }
  const absl::string_view type = is_maximum ? "MaxPool"
                                 : pool.function() == v1::Pool::AVERAGE
                                     ? "AveragePool"
                                     : "LpPool";
  writer.ChooseChannelsFirst();
  onnx::NodeProto& node = writer.Main(type, {writer.In(0)},
                                      writer.op().outputs.size() > 1
                                          ? v1::INT64
                                          : v1::ELEMENT_TYPE_UNSPECIFIED);
  SetWindow(node, {pool.kernel().begin(), pool.kernel().end()}, lists);
  if (pool.count_include_pad()) SetInt(node, "count_include_pad", 1);
  if (pool.column_major()) SetInt(node, "storage_order", 1);
  if (pool.function() == v1::Pool::LP_NORM) SetInt(node, "p", pool.p());
  return absl::OkStatus();
}

absl::Status ExportResize(OpWriter& writer) {
  ChooseResizeOrder(writer);
  const v1::Resize& resize = writer.attributes().resize();
  if (resize.antialias() ||
      resize.coordinates() == v1::Resize::HALF_PIXEL_SYMMETRIC) {
    return writer.Unsupported("a resize with antialias or half_pixel_symmetric",
                              absl::StrCat("what op set ", kOpset, " has"),
                              "use half_pixel coordinates");
  }
  const std::string x = writer.In(0);
  const std::string roi =
      resize.roi_size() == 0
          ? ""
          : writer.Floats("roi", {resize.roi().data(),
                                  static_cast<size_t>(resize.roi_size())});
  // The extents of the operand as the node sees it.
  std::vector<int64_t> from(writer.input(0).shape.size());
  const Order order = writer.order();
  for (size_t i = 0; i < from.size(); ++i) {
    from[order[i]] = writer.input(0).shape[i];
  }
  std::vector<std::string> inputs = {x, roi};
  if (ScalesGiveShape(resize, from)) {
    inputs.push_back(writer.Floats(
        "scales",
        {resize.scale().data(), static_cast<size_t>(resize.scale_size())}));
  } else {
    inputs.push_back("");
    inputs.push_back(writer.Integers(
        "sizes",
        {resize.shape().data(), static_cast<size_t>(resize.shape_size())}));
  }
  onnx::NodeProto& node = writer.Main("Resize", inputs);
  SetString(node, "mode", kModes[resize.mode()]);
  SetString(node, "coordinate_transformation_mode",
            kCoordinates[resize.coordinates()]);
  if (resize.mode() == v1::Resize::NEAREST) {
    SetString(node, "nearest_mode", kNearest[resize.nearest_rounding()]);
  }
  if (resize.mode() == v1::Resize::CUBIC) {
    SetFloat(node, "cubic_coeff_a", resize.cubic_coeff_a());
  }
  if (resize.exclude_outside()) SetInt(node, "exclude_outside", 1);
  if (resize.coordinates() == v1::Resize::TF_CROP_AND_RESIZE) {
    SetFloat(node, "extrapolation_value", resize.extrapolation_value());
  }
  return absl::OkStatus();
}

absl::Status ExportGridSample(OpWriter& writer) {
  constexpr absl::string_view kSampling[] = {"bilinear", "nearest", "bicubic"};
  constexpr absl::string_view kPadding[] = {"zeros", "border", "reflection"};
  const v1::GridSample& sample = writer.attributes().grid_sample();
  writer.ChooseChannelsFirst();
  onnx::NodeProto& node =
      writer.Main("GridSample", {writer.In(0), writer.In(1)});
  SetString(node, "mode", kSampling[sample.mode()]);
  SetString(node, "padding_mode", kPadding[sample.padding()]);
  if (sample.align_corners()) SetInt(node, "align_corners", 1);
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler::onnx_export
