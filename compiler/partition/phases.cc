#include "compiler/partition/phases.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/rounding.h"
#include "base/status_macros.h"
#include "compiler/ir/shapes.h"
#include "compiler/partition/first_pattern.h"
#include "compiler/partition/pad_kernels.h"
#include "compiler/partition/pattern_match.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/passes/product_sums.h"
#include "target/expression.h"
#include "target/op_variables.h"

namespace edgekiln::compiler {
namespace {

// Of all kernels of a graph that are tried: one of a single tap may become as
// many times larger as there are phases.
constexpr int64_t kMostBytes = int64_t{64} << 20;

// Of notes, with the number of phases between.
constexpr absl::string_view kOnThe = " on the ";
constexpr absl::string_view kPhases = " phases of its image";

// One axis of a convolution, before and on phases.
struct Axis {
  int64_t stride = 1;
  int64_t kernel = 1;  // Of the phases.
  int64_t image = 1;
  // Rows that are added to the image, to whole phases.
  int64_t before = 0;
  int64_t behind = 0;
  // Padding of the phases' image.
  int32_t pad_before = 0;
  int32_t pad_behind = 0;
};

// Nothing if the convolution leaves whole rows of phases unread.
std::optional<Axis> AxisOf(int64_t image, int64_t kernel, int64_t out,
                           int64_t stride, int64_t pad) {
  Axis axis;
  axis.stride = stride;
  axis.kernel = CeilDiv(kernel, stride);
  axis.before = pad % stride;
  axis.image = CeilDiv(image + axis.before, stride);
  axis.behind = axis.image * stride - image - axis.before;
  axis.pad_before = static_cast<int32_t>(pad / stride);
  const int64_t behind = out - 1 + axis.kernel - axis.image - axis.pad_before;
  if (behind < 0 || behind > std::numeric_limits<int32_t>::max()) {
    return std::nullopt;
  }
  axis.pad_behind = static_cast<int32_t>(behind);
  return axis;
}

struct Shape {
  Axis rows, columns;
  int64_t channels = 0;  // Of the image.
  int64_t phases() const { return rows.stride * columns.stride; }
};

// Nothing if the op is no convolution that has such a form.
std::optional<Shape> ShapeOf(const Graph& graph, const Op& op) {
  if (!op.attributes.has_conv2d() || op.attributes.conv2d().groups() > 1) {
    return std::nullopt;
  }
  const v1::Window2d& window = op.attributes.conv2d().window();
  const Tensor& image = graph.tensors[op.inputs[0]];
  const Tensor& weights = graph.tensors[op.inputs[1]];
  const Tensor& out = graph.tensors[op.outputs[0]];
  if ((window.stride_h() == 1 && window.stride_w() == 1) ||
      std::max(window.dilation_h(), window.dilation_w()) > 1 ||
      image.is_constant() || !image.quantization.has_value() ||
      image.quantization->per_channel() || !weights.is_constant() ||
      !weights.quantization.has_value() || ElementBytes(weights.type) != 1 ||
      (weights.quantization->per_channel() &&
       weights.quantization->axis != 0)) {
    return std::nullopt;
  }
  const auto rows = AxisOf(image.shape[1], weights.shape[1], out.shape[1],
                           window.stride_h(), window.pad_top());
  const auto columns = AxisOf(image.shape[2], weights.shape[2], out.shape[2],
                              window.stride_w(), window.pad_left());
  if (!rows || !columns) return std::nullopt;
  return Shape{*rows, *columns, image.shape[3]};
}

// Elements of the kernel on phases; nothing if they are too many.
std::optional<int64_t> KernelElements(const Shape& shape, int64_t outputs) {
  int64_t elements = 1;
  for (const int64_t factor :
       {outputs, shape.rows.kernel, shape.columns.kernel, shape.rows.stride,
        shape.columns.stride, shape.channels}) {
    if (factor > kMostBytes / elements) return std::nullopt;
    elements *= factor;
  }
  return elements;
}

Tensor KernelOf(const Tensor& weights, const Shape& shape) {
  Tensor phased = weights;
  const int64_t outputs = weights.shape[0];
  const int64_t rows = weights.shape[1];
  const int64_t columns = weights.shape[2];
  phased.shape = {outputs, shape.rows.kernel, shape.columns.kernel,
                  shape.phases() * shape.channels};
  const Quantization& q = *weights.quantization;
  const auto pixel = static_cast<size_t>(shape.channels);
  std::string data;
  data.reserve(static_cast<size_t>(phased.num_elements()));
  for (int64_t o = 0; o < outputs; ++o) {
    const auto zero = static_cast<char>(
        q.zero_point[q.per_channel() ? static_cast<size_t>(o) : 0]);
    for (int64_t y = 0; y < shape.rows.kernel; ++y) {
      for (int64_t x = 0; x < shape.columns.kernel; ++x) {
        for (int64_t phase = 0; phase < shape.phases(); ++phase) {
          const int64_t row =
              y * shape.rows.stride + phase / shape.columns.stride;
          const int64_t column =
              x * shape.columns.stride + phase % shape.columns.stride;
          if (row >= rows || column >= columns) {
            data.append(pixel, zero);
            continue;
          }
          const int64_t at = (o * rows + row) * columns + column;
          absl::StrAppend(&data, weights.data->substr(
                                     static_cast<size_t>(at) * pixel, pixel));
        }
      }
    }
  }
  phased.data = ConstantData(std::move(data));
  return phased;
}

void SetWindow(const Shape& shape, v1::Window2d& window) {
  window.set_stride_h(1);
  window.set_stride_w(1);
  window.set_pad_top(shape.rows.pad_before);
  window.set_pad_bottom(shape.rows.pad_behind);
  window.set_pad_left(shape.columns.pad_before);
  window.set_pad_right(shape.columns.pad_behind);
}

bool AnyAllows(const v1::Capabilities& capabilities) {
  for (const auto& engine : capabilities.engines()) {
    for (const v1::OpPattern& pattern : engine.patterns()) {
      if (!pattern.phases_expr().empty()) return true;
    }
  }
  return false;
}

absl::StatusOr<bool> Allows(const v1::OpPattern& pattern, const Graph& graph,
                            const Op& op) {
  if (pattern.phases_expr().empty()) return false;
  EK_ASSIGN_OR_RETURN(const target::Expression expression,
                      target::Expression::Compile(pattern.phases_expr(), {},
                                                  target::OpVariableNames()));
  const auto variables = target::VariablesOf(
      op.attributes, ShapesOf(graph, op.inputs), ShapesOf(graph, op.outputs));
  if (!variables.ok()) return false;  // Their products overflow.
  const auto value = expression.Evaluate(variables->values());
  return value.ok() && *value != 0;
}

absl::StatusOr<bool> AnyAllows(const v1::Capabilities& capabilities,
                               const Graph& graph, const Op& op) {
  for (const auto& engine : capabilities.engines()) {
    for (const v1::OpPattern& pattern : engine.patterns()) {
      EK_ASSIGN_OR_RETURN(const bool allows, Allows(pattern, graph, op));
      if (allows) return true;
    }
  }
  return false;
}

// The op by itself, on phases. Before it, values of an image that has limits
// are limited.
Graph Alone(const Graph& graph, const Op& op, const Shape& shape,
            const ValueRanges& ranges) {
  Graph alone;
  Op conv = op;
  const auto add = [&](const Tensor& tensor) {
    alone.tensors.push_back(tensor);
    return static_cast<TensorId>(alone.tensors.size()) - 1;
  };
  const std::vector<TensorId> inputs = op.inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] != kNoTensor) conv.inputs[i] = add(graph.tensors[inputs[i]]);
  }
  conv.outputs[0] = add(graph.tensors[op.outputs[0]]);
  Tensor& image = alone.tensors[conv.inputs[0]];
  image.shape = {image.shape[0], shape.rows.image, shape.columns.image,
                 shape.phases() * shape.channels};
  Tensor& weights = alone.tensors[conv.inputs[1]];
  weights = KernelOf(weights, shape);
  SetWindow(shape, *conv.attributes.mutable_conv2d()->mutable_window());
  alone.inputs = {conv.inputs[0]};
  alone.outputs = conv.outputs;
  if (const SumRange* limits = ranges.FindLimits(op.inputs[0])) {
    Tensor limited = alone.tensors[conv.inputs[0]];
    limited.name = FreshNames(alone).TensorName("limited");
    const float scale = limited.quantization->scale[0];
    Op clip;
    clip.id = absl::StrCat(conv.id, ".limits");
    v1::Clamp& clamp = *clip.attributes.mutable_clip()->mutable_clamp();
    clamp.set_min(scale * static_cast<float>(limits->low));
    clamp.set_max(scale * static_cast<float>(limits->high));
    clip.inputs = {conv.inputs[0]};
    conv.inputs[0] = add(limited);
    clip.outputs = {conv.inputs[0]};
    alone.ops.push_back(std::move(clip));
  }
  alone.ops.push_back(std::move(conv));
  return alone;
}

// By op, the form of those that are to be rewritten.
absl::StatusOr<std::vector<std::optional<Shape>>> Find(
    const Graph& graph, const v1::Capabilities& capabilities) {
  std::vector<std::optional<Shape>> found(graph.ops.size());
  if (!AnyAllows(capabilities)) return found;
  Graph padded = graph;  // Constants stay shared.
  EK_RETURN_IF_ERROR(PadKernels(padded, capabilities).status());
  EK_ASSIGN_OR_RETURN(const PatternMatcher matcher,
                      PatternMatcher::Create(padded, capabilities));
  ValueRanges ranges(graph);
  ranges.Update();
  int64_t bytes_left = kMostBytes;
  for (int32_t i = 0; i < std::ssize(graph.ops); ++i) {
    const Op& op = graph.ops[i];
    const std::optional<Shape> shape = ShapeOf(graph, op);
    if (!shape || FirstPattern(padded, i, capabilities, matcher) != nullptr) {
      continue;
    }
    const std::optional<int64_t> bytes =
        KernelElements(*shape, graph.tensors[op.inputs[1]].shape[0]);
    if (!bytes || *bytes > bytes_left) continue;
    EK_ASSIGN_OR_RETURN(const bool any, AnyAllows(capabilities, graph, op));
    if (!any) continue;
    bytes_left -= *bytes;  // Also of those that turn out not to be taken.
    Graph alone = Alone(graph, op, *shape, ranges);
    if (!VerifyGraph(alone).ok()) continue;
    EK_RETURN_IF_ERROR(PadKernels(alone, capabilities).status());
    EK_ASSIGN_OR_RETURN(const PatternMatcher matches_alone,
                        PatternMatcher::Create(alone, capabilities));
    const v1::OpPattern* const pattern =
        FirstPattern(alone, static_cast<int32_t>(alone.ops.size()) - 1,
                     capabilities, matches_alone);
    if (pattern == nullptr) continue;
    EK_ASSIGN_OR_RETURN(const bool allows, Allows(*pattern, graph, op));
    if (allows) found[i] = shape;
  }
  return found;
}

class PhaseRewriter {
 public:
  explicit PhaseRewriter(Graph& graph)
      : graph_(graph), names_(graph), uses_(UsesOf(graph)) {}

  Phases Run(const std::vector<std::optional<Shape>>& shapes) {
    std::vector<Op> ops = std::move(graph_.ops);
    graph_.ops.clear();
    for (size_t i = 0; i < ops.size(); ++i) {
      std::string note;
      if (shapes[i]) {
        note = absl::StrCat(kOnThe, shapes[i]->phases(), kPhases);
        Rearrange(*shapes[i], ops[i]);
      }
      graph_.ops.push_back(std::move(ops[i]));
      phases_.origin.push_back(static_cast<int32_t>(i));
      phases_.notes.push_back(std::move(note));
    }
    return std::move(phases_);
  }

 private:
  // Inserts what brings the image into phases, and has `op` read that.
  void Rearrange(const Shape& shape, Op& op) {
    const Axis& rows = shape.rows;
    const Axis& columns = shape.columns;
    const int64_t batch = graph_.tensors[op.inputs[0]].shape[0];
    TensorId image = op.inputs[0];
    if (rows.before + rows.behind + columns.before + columns.behind > 0) {
      v1::OpAttributes pad;
      for (const int64_t before :
           {int64_t{0}, rows.before, columns.before, int64_t{0}}) {
        pad.mutable_pad()->add_before(before);
      }
      for (const int64_t behind :
           {int64_t{0}, rows.behind, columns.behind, int64_t{0}}) {
        pad.mutable_pad()->add_after(behind);
      }
      image = Insert(op, "pad", std::move(pad), image,
                     {batch, rows.image * rows.stride,
                      columns.image * columns.stride, shape.channels});
    }
    image = Insert(op, "split", ReshapeAttributes(), image,
                   {batch, rows.image, rows.stride, columns.image,
                    columns.stride, shape.channels});
    image = Insert(op, "order", TransposeAttributes({0, 1, 3, 2, 4, 5}), image,
                   {batch, rows.image, columns.image, rows.stride,
                    columns.stride, shape.channels});
    image = Insert(
        op, "join", ReshapeAttributes(), image,
        {batch, rows.image, columns.image, shape.phases() * shape.channels});
    op.inputs[0] = image;
    SetWindow(shape, *op.attributes.mutable_conv2d()->mutable_window());
    Tensor kernel = KernelOf(graph_.tensors[op.inputs[1]], shape);
    kernel.name = names_.TensorName(absl::StrCat(kernel.name, ".phases"));
    if (--uses_[op.inputs[1]] == 0) {
      graph_.tensors[op.inputs[1]] = std::move(kernel);
      return;
    }
    op.inputs[1] = static_cast<TensorId>(graph_.tensors.size());
    graph_.tensors.push_back(std::move(kernel));
  }

  TensorId Insert(const Op& conv, absl::string_view what,
                  v1::OpAttributes attributes, TensorId input,
                  std::vector<int64_t> shape) {
    Tensor made = graph_.tensors[input];
    made.shape = std::move(shape);
    made.name = names_.TensorName(
        absl::StrCat(graph_.tensors[conv.outputs[0]].name, ".phases.", what));
    const auto id = static_cast<TensorId>(graph_.tensors.size());
    graph_.tensors.push_back(std::move(made));
    Op op;
    op.id = names_.OpId(absl::StrCat(conv.id, ".phases.", what));
    op.attributes = std::move(attributes);
    op.inputs = {input};
    op.outputs = {id};
    phases_.origin.push_back(-1);
    phases_.notes.push_back(
        absl::StrCat("; rearranges the image of a layer (", conv.id, ")"));
    phases_.rearranged.push_back(id);
    graph_.ops.push_back(std::move(op));
    return id;
  }

  Graph& graph_;
  FreshNames names_;
  std::vector<int> uses_;
  Phases phases_;
};

}  // namespace

absl::StatusOr<Phases> UsePhases(Graph& graph,
                                 const v1::Capabilities& capabilities) {
  EK_ASSIGN_OR_RETURN(const auto shapes, Find(graph, capabilities));
  const bool any =
      std::any_of(shapes.begin(), shapes.end(),
                  [](const auto& shape) { return shape.has_value(); });
  if (any) return PhaseRewriter(graph).Run(shapes);
  Phases none;
  none.origin.resize(graph.ops.size());
  std::iota(none.origin.begin(), none.origin.end(), 0);
  none.notes.resize(graph.ops.size());
  return none;
}

absl::string_view PhasesIn(absl::string_view reason) {
  const size_t end = reason.find(kPhases);
  if (end == absl::string_view::npos) return "";
  const size_t begin = reason.rfind(kOnThe, end);
  if (begin == absl::string_view::npos) return "";
  return reason.substr(begin, end - begin + kPhases.size());
}

}  // namespace edgekiln::compiler
