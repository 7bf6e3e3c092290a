#include "compiler/partition/pad_kernels.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/partition/pattern_match.h"
#include "compiler/partition/split_accumulators.h"
#include "compiler/passes/graph_edit.h"

namespace edgekiln::compiler {
namespace {

constexpr absl::string_view kPadded = " with its kernel padded with zeros (";

// Of all padded kernels of a graph: one of a single tap may become 81 times as
// large.
constexpr int64_t kMostBytes = int64_t{64} << 20;

// Of one axis.
struct Extra {
  int32_t count = 0;
  bool in_front = false;
  auto operator<=>(const Extra&) const = default;
};

struct Padding {
  Extra rows, columns;
  auto operator<=>(const Padding&) const = default;
};

// Convolutions that share weights share those with the same padding.
struct PaddedKernel {
  TensorId kernel = kNoTensor;
  Padding padding;
  auto operator<=>(const PaddedKernel&) const = default;
};

struct PaddedOp {
  PaddedKernel kernel;
  v1::OpAttributes attributes;
};

v1::Window2d* WindowOf(v1::OpAttributes& attributes) {
  if (attributes.has_conv2d()) {
    return attributes.mutable_conv2d()->mutable_window();
  }
  if (attributes.has_depthwise_conv2d()) {
    return attributes.mutable_depthwise_conv2d()->mutable_window();
  }
  return nullptr;
}

// Whether the op has constant weights [o or 1, h, w, i or o] of a byte.
bool HasKernel(const Graph& graph, const Op& op) {
  if (!op.attributes.has_conv2d() && !op.attributes.has_depthwise_conv2d()) {
    return false;
  }
  const Tensor& weights = graph.tensors[op.inputs[1]];
  return weights.is_constant() && weights.quantization.has_value() &&
         ElementBytes(weights.type) == 1 && weights.shape.size() == 4 &&
         weights.num_elements() > 0;
}

std::vector<int64_t> PaddedShape(std::vector<int64_t> shape,
                                 const Padding& padding) {
  shape[1] += padding.rows.count;
  shape[2] += padding.columns.count;
  return shape;
}

// The zero of the element: of its channel, if each has one.
char ZeroAt(const Tensor& weights, int64_t first, int64_t last) {
  const Quantization& q = *weights.quantization;
  if (!q.per_channel()) return static_cast<char>(q.zero_point[0]);
  return static_cast<char>(
      q.zero_point[static_cast<size_t>(q.axis == 0 ? first : last)]);
}

Tensor PaddedWeights(const Tensor& weights, const Padding& padding) {
  Tensor padded = weights;
  padded.shape = PaddedShape(weights.shape, padding);
  const std::vector<int64_t>& from = weights.shape;
  const int64_t top = padding.rows.in_front ? padding.rows.count : 0;
  const int64_t left = padding.columns.in_front ? padding.columns.count : 0;
  const auto row_bytes = static_cast<size_t>(from[2] * from[3]);
  std::string data;
  data.reserve(static_cast<size_t>(padded.num_elements()));
  for (int64_t o = 0; o < from[0]; ++o) {
    const size_t begin = data.size();
    std::string zeros;
    for (int64_t i = 0; i < from[3]; ++i) zeros += ZeroAt(weights, o, i);
    for (int64_t at = 0; at < padded.shape[1] * padded.shape[2]; ++at) {
      data += zeros;
    }
    for (int64_t y = 0; y < from[1]; ++y) {
      const int64_t pixel = (top + y) * padded.shape[2] + left;
      weights.data->copy(data.data() + begin + pixel * from[3], row_bytes,
                         static_cast<size_t>(o * from[1] + y) * row_bytes);
    }
  }
  padded.data = ConstantData(std::move(data));
  return padded;
}

// Some of a kernel.
struct Taps {
  int64_t top = 0;
  int64_t bottom = 0;  // Behind the last one.
  int64_t left = 0;
  int64_t right = 0;
  int64_t rows() const { return bottom - top; }
  int64_t columns() const { return right - left; }
  Taps FirstRow() const { return {top, top + 1, left, right}; }
  Taps LastRow() const { return {bottom - 1, bottom, left, right}; }
  Taps FirstColumn() const { return {top, bottom, left, left + 1}; }
  Taps LastColumn() const { return {top, bottom, right - 1, right}; }
};

// Of every output channel, row by row.
std::string ValuesOf(const Tensor& weights, const Taps& taps) {
  const std::vector<int64_t>& shape = weights.shape;
  std::string values;
  for (int64_t o = 0; o < shape[0]; ++o) {
    for (int64_t y = taps.top; y < taps.bottom; ++y) {
      const int64_t at = ((o * shape[1] + y) * shape[2] + taps.left) * shape[3];
      absl::StrAppend(
          &values,
          weights.data->substr(static_cast<size_t>(at),
                               static_cast<size_t>(taps.columns() * shape[3])));
    }
  }
  return values;
}

bool IsZero(const Tensor& weights, const Taps& taps) {
  const std::string values = ValuesOf(weights, taps);
  const int64_t inner = weights.shape[3];
  const int64_t of_output = taps.rows() * taps.columns() * inner;
  for (int64_t i = 0; i < std::ssize(values); ++i) {
    if (values[static_cast<size_t>(i)] !=
        ZeroAt(weights, i / of_output, i % inner)) {
      return false;
    }
  }
  return true;
}

Tensor PartOf(const Tensor& weights, const Taps& taps) {
  Tensor part = weights;
  part.shape[1] = taps.rows();
  part.shape[2] = taps.columns();
  part.data = ConstantData(ValuesOf(weights, taps));
  return part;
}

// Stand for all values of the padded weights when patterns are matched, which
// only asks whether they lie in a range: the smallest, the largest, and zeros.
ConstantData Extremes(const Tensor& weights) {
  int8_t least = 0;
  int8_t most = 0;
  const auto add = [&](int8_t value) {
    least = std::min(least, value);
    most = std::max(most, value);
  };
  for (const char byte : *weights.data) add(static_cast<int8_t>(byte));
  for (const int32_t zero : weights.quantization->zero_point) {
    add(static_cast<int8_t>(zero));
  }
  return ConstantData(
      std::string{static_cast<char>(least), static_cast<char>(most)});
}

// False if the padding, or what the kernel of `shape` reaches over, does not
// fit 32 bits.
bool AddPadding(const Padding& padding, const std::vector<int64_t>& shape,
                v1::Window2d& window) {
  const int64_t down = std::max(window.dilation_h(), 1);
  const int64_t right = std::max(window.dilation_w(), 1);
  const int64_t rows =
      (padding.rows.in_front ? window.pad_top() : window.pad_bottom()) +
      padding.rows.count * down;
  const int64_t columns =
      (padding.columns.in_front ? window.pad_left() : window.pad_right()) +
      padding.columns.count * right;
  for (const int64_t value :
       {rows, columns, (shape[1] - 1) * down + 1, (shape[2] - 1) * right + 1}) {
    if (value > std::numeric_limits<int32_t>::max()) return false;
  }
  if (padding.rows.in_front) {
    window.set_pad_top(static_cast<int32_t>(rows));
  } else {
    window.set_pad_bottom(static_cast<int32_t>(rows));
  }
  if (padding.columns.in_front) {
    window.set_pad_left(static_cast<int32_t>(columns));
  } else {
    window.set_pad_right(static_cast<int32_t>(columns));
  }
  return true;
}

bool PadsAny(const v1::Capabilities& capabilities) {
  for (const auto& engine : capabilities.engines()) {
    for (const v1::OpPattern& pattern : engine.patterns()) {
      if (pattern.most_kernel_padding() > 0) return true;
    }
  }
  return false;
}

// All paddings up to `most` rows and columns, the fewest taps first; behind
// before in front.
std::vector<Padding> Paddings(int32_t most) {
  std::vector<Padding> all;
  for (int32_t rows = 0; rows <= most; ++rows) {
    for (int32_t columns = 0; columns <= most; ++columns) {
      for (const bool top : {false, true}) {
        for (const bool left : {false, true}) {
          if (rows + columns == 0 || (rows == 0 && top) ||
              (columns == 0 && left)) {
            continue;
          }
          all.push_back({{rows, top}, {columns, left}});
        }
      }
    }
  }
  std::stable_sort(
      all.begin(), all.end(), [](const Padding& a, const Padding& b) {
        return a.rows.count + a.columns.count < b.rows.count + b.columns.count;
      });
  return all;
}

// Finds a padding for each op that needs one.
class PaddingSearch {
 public:
  // `matcher` is of `graph`, whose last tensor, used by nothing, is that of the
  // kernel that is tried.
  PaddingSearch(Graph& graph, const v1::Capabilities& capabilities,
                const PatternMatcher& matcher)
      : graph_(graph),
        capabilities_(capabilities),
        matcher_(matcher),
        tried_(static_cast<TensorId>(graph.tensors.size()) - 1) {}

  // By op, none for those that stay. Leaves all ops as they are.
  std::vector<std::optional<PaddedOp>> Run() {
    std::vector<std::optional<PaddedOp>> found(graph_.ops.size());
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      if (!HasKernel(graph_, graph_.ops[i]) || Takes(i, {})) continue;
      const int32_t most = MostThatHelps(i);
      if (most == 0) continue;
      const Op before = graph_.ops[i];
      found[i] = Find(i, most);
      graph_.ops[i] = before;
    }
    return found;
  }

 private:
  // Whether the engine on which the op, or its first half, would be placed
  // allows that padding.
  bool Takes(size_t index, const Padding& padding) const {
    for (int32_t e = 0; e < capabilities_.engines_size(); ++e) {
      const Match match = matcher_.MatchChain(static_cast<int32_t>(index), e);
      if (match.ops.empty() ||
          (match.split == OpSplit::kSums &&
           !WhyNoAccumulator(graph_, graph_.ops[index]).empty())) {
        continue;
      }
      return capabilities_.engines(e)
                 .patterns(match.pattern)
                 .most_kernel_padding() >=
             std::max(padding.rows.count, padding.columns.count);
    }
    return false;
  }

  int32_t MostThatHelps(size_t index) const {
    int32_t most = 0;
    for (int32_t e = 0; e < capabilities_.engines_size(); ++e) {
      most = std::max(
          most, matcher_.MostKernelPadding(static_cast<int32_t>(index), e));
    }
    return most;
  }

  std::optional<PaddedOp> Find(size_t index, int32_t most) {
    Op& op = graph_.ops[index];
    const v1::OpAttributes attributes = op.attributes;
    const TensorId kernel = op.inputs[1];
    const std::vector<int64_t> shape = graph_.tensors[kernel].shape;
    Tensor& tried = graph_.tensors[tried_];
    tried = graph_.tensors[kernel];
    tried.data = Extremes(graph_.tensors[kernel]);
    op.inputs[1] = tried_;
    for (const Padding& padding : Paddings(most)) {
      tried.shape = PaddedShape(shape, padding);
      op.attributes = attributes;
      const PaddedKernel padded = {kernel, padding};
      const int64_t bytes =
          kernels_.contains(padded) ? 0 : tried.num_elements();
      if (bytes > bytes_left_ ||
          !AddPadding(padding, tried.shape, *WindowOf(op.attributes)) ||
          !Takes(index, padding)) {
        continue;
      }
      bytes_left_ -= bytes;
      kernels_.insert(padded);
      return PaddedOp{padded, op.attributes};
    }
    return std::nullopt;
  }

  Graph& graph_;
  const v1::Capabilities& capabilities_;
  const PatternMatcher& matcher_;
  const TensorId tried_;
  int64_t bytes_left_ = kMostBytes;
  std::set<PaddedKernel> kernels_;  // Found so far.
};

// Puts padded kernels into a graph.
class KernelPadder {
 public:
  KernelPadder(Graph& graph, const std::vector<std::optional<PaddedOp>>& ops)
      : graph_(graph), ops_(ops), names_(graph), left_(UsesOf(graph)) {
    for (const auto& op : ops) {
      if (op) --left_[op->kernel.kernel];
    }
  }

  std::vector<std::string> Run() {
    std::vector<std::string> done(ops_.size());
    for (size_t i = 0; i < ops_.size(); ++i) {
      if (!ops_[i]) continue;
      const PaddedKernel& kernel = ops_[i]->kernel;
      graph_.ops[i].attributes = ops_[i]->attributes;
      graph_.ops[i].inputs[1] = IdOf(kernel);
      const std::vector<int64_t>& before = weights_.at(kernel.kernel).shape;
      const std::vector<int64_t> after = PaddedShape(before, kernel.padding);
      done[i] = absl::StrCat(kPadded, "of ", before[1], " x ", before[2],
                             " to ", after[1], " x ", after[2], ")");
    }
    return done;
  }

 private:
  // The first padded kernel takes the place of one that nothing else reads.
  TensorId IdOf(const PaddedKernel& kernel) {
    const auto known = padded_.find(kernel);
    if (known != padded_.end()) return known->second;
    const auto [weights, is_first] =
        weights_.try_emplace(kernel.kernel, graph_.tensors[kernel.kernel]);
    Tensor padded = PaddedWeights(weights->second, kernel.padding);
    padded.name =
        names_.TensorName(absl::StrCat(weights->second.name, ".padded"));
    TensorId id = kernel.kernel;
    if (is_first && left_[id] == 0) {
      graph_.tensors[id] = std::move(padded);
    } else {
      id = static_cast<TensorId>(graph_.tensors.size());
      graph_.tensors.push_back(std::move(padded));
    }
    padded_[kernel] = id;
    return id;
  }

  Graph& graph_;
  const std::vector<std::optional<PaddedOp>>& ops_;
  FreshNames names_;
  // By tensor, the uses that stay.
  std::vector<int> left_;
  std::map<TensorId, Tensor> weights_;  // As they were.
  std::map<PaddedKernel, TensorId> padded_;
};

}  // namespace

absl::StatusOr<std::vector<std::string>> PadKernels(
    Graph& graph, const v1::Capabilities& capabilities) {
  if (!PadsAny(capabilities)) {
    return std::vector<std::string>(graph.ops.size());
  }
  graph.tensors.emplace_back();
  const auto matcher = PatternMatcher::Create(graph, capabilities);
  std::vector<std::optional<PaddedOp>> found;
  if (matcher.ok()) {
    found = PaddingSearch(graph, capabilities, *matcher).Run();
  }
  graph.tensors.pop_back();
  EK_RETURN_IF_ERROR(matcher.status());
  return KernelPadder(graph, found).Run();
}

std::optional<UnpaddedOp> WithoutPadding(const Graph& graph, const Op& op) {
  if (!HasKernel(graph, op)) return std::nullopt;
  const Tensor& weights = graph.tensors[op.inputs[1]];
  UnpaddedOp unpadded = {op.attributes, weights};
  v1::Window2d& window = *WindowOf(unpadded.attributes);
  const int32_t down = std::max(window.dilation_h(), 1);
  const int32_t right = std::max(window.dilation_w(), 1);
  Taps taps = {0, weights.shape[1], 0, weights.shape[2]};
  // Takes one row or column off, if it is zeros and the image is padded there.
  const auto take = [&](int64_t& end, int64_t step, const Taps& border,
                        int32_t padding, int32_t distance, auto set) {
    if (padding < distance || !IsZero(weights, border)) return false;
    end += step;
    set(padding - distance);
    return true;
  };
  bool taken = true;
  while (taken) {
    taken = false;
    if (taps.rows() > 1) {
      taken = take(taps.bottom, -1, taps.LastRow(), window.pad_bottom(), down,
                   [&](int32_t pad) { window.set_pad_bottom(pad); }) ||
              take(taps.top, 1, taps.FirstRow(), window.pad_top(), down,
                   [&](int32_t pad) { window.set_pad_top(pad); });
    }
    if (!taken && taps.columns() > 1) {
      taken = take(taps.right, -1, taps.LastColumn(), window.pad_right(), right,
                   [&](int32_t pad) { window.set_pad_right(pad); }) ||
              take(taps.left, 1, taps.FirstColumn(), window.pad_left(), right,
                   [&](int32_t pad) { window.set_pad_left(pad); });
    }
  }
  if (taps.rows() == weights.shape[1] && taps.columns() == weights.shape[2]) {
    return std::nullopt;
  }
  unpadded.kernel = PartOf(weights, taps);
  return unpadded;
}

absl::string_view PaddingIn(absl::string_view reason) {
  const size_t begin = reason.find(kPadded);
  if (begin == absl::string_view::npos) return "";
  return reason.substr(begin, reason.find(')', begin) - begin + 1);
}

}  // namespace edgekiln::compiler
