#include "compiler/partition/undo_phases.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "compiler/passes/graph_edit.h"

namespace edgekiln::compiler {
namespace {

// The ops that UsePhases() put before a convolution.
struct Chain {
  TensorId image = kNoTensor;
  std::vector<int32_t> ops;  // Rising.
  int64_t rows = 1;          // Strides.
  int64_t columns = 1;
  int64_t top = 0;  // Rows and columns added before the image.
  int64_t left = 0;
};

std::optional<Chain> ChainOf(const Graph& graph, const TensorLinks& links,
                             int32_t op,
                             absl::Span<const TensorId> rearranged) {
  const std::string prefix = absl::StrCat(graph.ops[op].id, ".phases.");
  Chain chain;
  TensorId at = graph.ops[op].inputs[0];
  // The op that makes `at`, if it is one of them; then `at` is its input.
  const auto step = [&](const char* what) -> const Op* {
    const int32_t made_by = links.producers[at];
    if (made_by < 0 || links.uses[at] != 1 ||
        !absl::c_binary_search(rearranged, at) ||
        !absl::StartsWith(graph.ops[made_by].id, prefix + what)) {
      return nullptr;
    }
    chain.ops.insert(chain.ops.begin(), made_by);
    at = graph.ops[made_by].inputs[0];
    return &graph.ops[made_by];
  };
  if (step("join") == nullptr || step("order") == nullptr) return std::nullopt;
  const std::vector<int64_t>& phases = graph.tensors[at].shape;
  if (step("split") == nullptr || phases.size() != 6) return std::nullopt;
  chain.rows = phases[2];
  chain.columns = phases[4];
  if (const Op* const pad = step("pad")) {
    if (!pad->attributes.has_pad() ||
        pad->attributes.pad().before_size() != 4) {
      return std::nullopt;
    }
    chain.top = pad->attributes.pad().before(1);
    chain.left = pad->attributes.pad().before(2);
  }
  chain.image = at;
  if (graph.tensors[at].shape.size() != 4) return std::nullopt;
  return chain;
}

// Whether all weights of one row, or column (the other is -1), are the zero
// point.
bool IsZero(const Tensor& kernel, int64_t row, int64_t column) {
  const Quantization& q = *kernel.quantization;
  const int64_t pixel = kernel.shape[3];
  const auto range = [](int64_t one, int64_t all) {
    return one < 0 ? std::pair(int64_t{0}, all) : std::pair(one, one + 1);
  };
  const auto rows = range(row, kernel.shape[1]);
  const auto columns = range(column, kernel.shape[2]);
  for (int64_t o = 0; o < kernel.shape[0]; ++o) {
    const auto zero = static_cast<char>(
        q.zero_point[q.per_channel() ? static_cast<size_t>(o) : 0]);
    for (int64_t y = rows.first; y < rows.second; ++y) {
      for (int64_t x = columns.first; x < columns.second; ++x) {
        const int64_t at = ((o * kernel.shape[1] + y) * kernel.shape[2] + x);
        for (int64_t i = 0; i < pixel; ++i) {
          if ((*kernel.data)[static_cast<size_t>(at * pixel + i)] != zero) {
            return false;
          }
        }
      }
    }
  }
  return true;
}

// The first rows and columns of a kernel.
Tensor Cut(const Tensor& kernel, int64_t rows, int64_t columns) {
  Tensor cut = kernel;
  cut.shape[1] = rows;
  cut.shape[2] = columns;
  std::string data;
  const auto line = static_cast<size_t>(columns * kernel.shape[3]);
  for (int64_t o = 0; o < kernel.shape[0]; ++o) {
    for (int64_t y = 0; y < rows; ++y) {
      const int64_t at = (o * kernel.shape[1] + y) * kernel.shape[2];
      absl::StrAppend(
          &data,
          kernel.data->substr(static_cast<size_t>(at * kernel.shape[3]), line));
    }
  }
  cut.data = ConstantData(std::move(data));
  return cut;
}

// The kernel with its taps where they are on the image.
Tensor OnImage(const Tensor& phased, const Chain& chain) {
  Tensor kernel = phased;
  const int64_t phases = chain.rows * chain.columns;
  const int64_t channels = phased.shape[3] / phases;
  kernel.shape[1] *= chain.rows;
  kernel.shape[2] *= chain.columns;
  kernel.shape[3] = channels;
  std::string data;
  data.reserve(phased.data->size());
  for (int64_t o = 0; o < kernel.shape[0]; ++o) {
    for (int64_t y = 0; y < kernel.shape[1]; ++y) {
      for (int64_t x = 0; x < kernel.shape[2]; ++x) {
        const int64_t tap =
            (o * phased.shape[1] + y / chain.rows) * phased.shape[2] +
            x / chain.columns;
        const int64_t phase =
            y % chain.rows * chain.columns + x % chain.columns;
        absl::StrAppend(
            &data, phased.data->substr(
                       static_cast<size_t>((tap * phases + phase) * channels),
                       static_cast<size_t>(channels)));
      }
    }
  }
  kernel.data = ConstantData(std::move(data));
  return kernel;
}

// Least extent of a kernel with which there are no more results.
int64_t LeastKernel(int64_t image, int64_t out, int64_t stride, int64_t pad) {
  return std::max<int64_t>(1, image + pad - out * stride + 1);
}

int32_t PadBehind(int64_t image, int64_t out, int64_t stride, int64_t pad,
                  int64_t kernel) {
  const int64_t behind = (out - 1) * stride + kernel - image - pad;
  return static_cast<int32_t>(
      std::clamp<int64_t>(behind, 0, std::numeric_limits<int32_t>::max()));
}

}  // namespace

TensorLinks::TensorLinks(const Graph& graph)
    : producers(Producers(graph)), uses(UsesOf(graph)) {}

std::optional<WholeImage> WithoutPhases(const Graph& graph,
                                        const TensorLinks& links, int32_t op,
                                        absl::Span<const TensorId> rearranged,
                                        const UnpaddedOp* unpadded) {
  const Op& conv = graph.ops[op];
  if (!conv.attributes.has_conv2d()) return std::nullopt;
  const std::optional<Chain> chain = ChainOf(graph, links, op, rearranged);
  if (!chain) return std::nullopt;
  const Tensor& phased =
      unpadded != nullptr ? unpadded->kernel : graph.tensors[conv.inputs[1]];
  const int64_t phases = chain->rows * chain->columns;
  if (!phased.is_constant() || !phased.quantization ||
      phased.shape.size() != 4 || phased.shape[3] % phases != 0) {
    return std::nullopt;
  }
  WholeImage whole;
  whole.attributes =
      unpadded != nullptr ? unpadded->attributes : conv.attributes;
  whole.image = chain->image;
  whole.rearranging = chain->ops;
  const std::vector<int64_t>& image = graph.tensors[chain->image].shape;
  const std::vector<int64_t>& out = graph.tensors[conv.outputs[0]].shape;
  v1::Window2d& window = *whole.attributes.mutable_conv2d()->mutable_window();
  const int64_t top = window.pad_top() * chain->rows + chain->top;
  const int64_t left = window.pad_left() * chain->columns + chain->left;
  whole.kernel = OnImage(phased, *chain);
  int64_t rows = whole.kernel.shape[1];
  int64_t columns = whole.kernel.shape[2];
  const int64_t least_rows = LeastKernel(image[1], out[1], chain->rows, top);
  const int64_t least_columns =
      LeastKernel(image[2], out[2], chain->columns, left);
  while (rows > least_rows && IsZero(whole.kernel, rows - 1, -1)) --rows;
  while (columns > least_columns && IsZero(whole.kernel, -1, columns - 1)) {
    --columns;
  }
  whole.kernel = Cut(whole.kernel, rows, columns);
  window.set_stride_h(static_cast<int32_t>(chain->rows));
  window.set_stride_w(static_cast<int32_t>(chain->columns));
  window.set_pad_top(static_cast<int32_t>(top));
  window.set_pad_left(static_cast<int32_t>(left));
  window.set_pad_bottom(PadBehind(image[1], out[1], chain->rows, top, rows));
  window.set_pad_right(
      PadBehind(image[2], out[2], chain->columns, left, columns));
  return whole;
}

}  // namespace edgekiln::compiler
