#include "compiler/quantize/input_moments.h"

#include <algorithm>
#include <utility>

#include "absl/types/span.h"
#include "ops/gemm.h"

namespace edgekiln::compiler {
namespace {

// Elements of one block: 8 MB of moments.
constexpr int64_t kBlock = 1024;
// Patches of a layer: at least, and per element of a patch.
constexpr int64_t kFewestPatches = 2048;
constexpr int64_t kPatchesPerElement = 6;
// Products that one int32 sum of 8-bit values can hold.
constexpr int64_t kMostPatches = 65'000;
// From so many elements on a matrix product pays.
constexpr int64_t kSmall = 32;
// Of the mean of the diagonal, added to it: what the samples leave dark may be
// lit by others.
constexpr double kRidge = 0.01;

const Tensor& InputOf(const Graph& graph, const Op& op) {
  return graph.tensors[op.inputs[0]];
}

const Tensor& WeightsOf(const Graph& graph, const Op& op) {
  return graph.tensors[op.inputs[1]];
}

// Where a patch lies.
struct Position {
  int64_t sample = 0;
  int64_t row = 0;       // Of the sample's patches.
  int64_t image = 0;     // Of the sample.
  int64_t y = 0, x = 0;  // Of a window: its first element in the image.
};

// Reads the elements of patches: what the channels of `group` see, of a
// depthwise convolution perhaps several groups.
class Patches {
 public:
  Patches(const Graph& graph, const Op& op, const ChannelGroup& group)
      : input_(InputOf(graph, op)) {
    const std::vector<int64_t>& out = graph.tensors[op.outputs[0]].shape;
    const std::vector<int64_t>& weights = WeightsOf(graph, op).shape;
    if (op.attributes.has_fully_connected()) {
      depth_ = weights[1];
      rows_ = input_.num_elements() / std::max<int64_t>(depth_, 1);
      return;
    }
    const bool depthwise = op.attributes.has_depthwise_conv2d();
    window_ = depthwise ? op.attributes.depthwise_conv2d().window()
                        : op.attributes.conv2d().window();
    is_window_ = true;
    kernel_h_ = weights[1];
    kernel_w_ = weights[2];
    out_h_ = out[1];
    out_w_ = out[2];
    if (depthwise) {
      const int64_t multiplier =
          op.attributes.depthwise_conv2d().depth_multiplier();
      channels_ = group.channels / multiplier;
      first_channel_ = group.first / multiplier;
    } else {
      channels_ = weights[3];
      first_channel_ = group.first / group.channels * channels_;
    }
    depth_ = kernel_h_ * kernel_w_ * channels_;
    rows_ = out[0] * out_h_ * out_w_;
  }

  int64_t depth() const { return depth_; }
  int64_t rows() const { return rows_; }

  // Of patch `row` of sample number `sample`.
  Position PositionOf(int64_t sample, int64_t row) const {
    return {.sample = sample,
            .row = row,
            .image = row / out_w_ / out_h_,
            .y = row / out_w_ % out_h_ * window_.stride_h() - window_.pad_top(),
            .x = row % out_w_ * window_.stride_w() - window_.pad_left()};
  }

  // Calls put(j, value) for the elements of the patch there.
  template <typename T, typename Put>
  void Read(const T* values, T zero, const Position& at, const Put& put) const {
    if (!is_window_) {
      for (int64_t j = 0; j < depth_; ++j) put(j, values[at.row * depth_ + j]);
      return;
    }
    const int64_t in_h = input_.shape[1];
    const int64_t in_w = input_.shape[2];
    const int64_t in_c = input_.shape[3];
    const int64_t n = at.image;
    int64_t j = 0;
    for (int64_t ky = 0; ky < kernel_h_; ++ky) {
      const int64_t in_y = at.y + ky * window_.dilation_h();
      for (int64_t kx = 0; kx < kernel_w_; ++kx) {
        const int64_t in_x = at.x + kx * window_.dilation_w();
        const bool inside =
            in_y >= 0 && in_y < in_h && in_x >= 0 && in_x < in_w;
        const T* pixel = inside ? values +
                                      ((n * in_h + in_y) * in_w + in_x) * in_c +
                                      first_channel_
                                : nullptr;
        for (int64_t c = 0; c < channels_; ++c) {
          put(j++, inside ? pixel[c] : zero);
        }
      }
    }
  }

 private:
  const Tensor& input_;
  bool is_window_ = false;
  v1::Window2d window_;
  int64_t kernel_h_ = 1;
  int64_t kernel_w_ = 1;
  int64_t out_h_ = 1;
  int64_t out_w_ = 1;
  int64_t channels_ = 1;
  int64_t first_channel_ = 0;
  int64_t depth_ = 0;
  int64_t rows_ = 0;
};

// Number k of `count` numbers below `all`, spread evenly; not in step with rows
// of an image.
int64_t Spread(int64_t k, int64_t count, int64_t all) {
  if (count == all) return k;
  const auto jitter = static_cast<double>(
      (static_cast<uint64_t>(k) * 0x9E3779B97F4A7C15ull) >> 11);
  const double at = (static_cast<double>(k) + jitter * 0x1p-53) *
                    static_cast<double>(all) / static_cast<double>(count);
  return std::min(static_cast<int64_t>(at), all - 1);
}

// Of 16 bits, the upper 8, rounded: moments need no more.
int8_t UpperByte(int16_t value) {
  return static_cast<int8_t>(std::min((value + 128) >> 8, 127));
}

// Sums of products of the rows of [size, count] int8 with each other, by the
// matrix product of the reference. As the result is symmetric, only rows from a
// group of columns on are multiplied with it.
void MatrixProducts(absl::Span<const int8_t> rows, int64_t size, int64_t count,
                    std::vector<int32_t>& sums) {
  constexpr int64_t kPatches = 1024;  // At a time, to stay near the caches.
  constexpr int64_t kColumns = 4 * ops::kGemmColumns;
  const std::vector<int32_t> zero = {0};
  const int64_t most = std::min(kPatches, count + count % 2);
  std::vector<int16_t> left(static_cast<size_t>(size * most));
  std::vector<int32_t> part(static_cast<size_t>(size * kColumns));
  for (int64_t first = 0; first < count; first += kPatches) {
    const int64_t patches = std::min(kPatches, count - first);
    const int64_t stride = patches + patches % 2;
    for (int64_t i = 0; i < size; ++i) {
      const int8_t* from = rows.data() + i * count + first;
      int16_t* to = left.data() + i * stride;
      for (int64_t k = 0; k < patches; ++k) to[k] = from[k];
      if (stride > patches) to[patches] = 0;
    }
    for (int64_t n = 0; n < size; n += kColumns) {
      const int64_t columns = std::min(kColumns, size - n);
      const ops::PackedInt16 right(rows.data() + n * count + first, patches,
                                   columns, 1, count, zero);
      ops::Multiply(ops::CpuPath::kAuto, size - n, left.data() + n * stride,
                    right, part.data(), columns);
      for (int64_t i = 0; i < size - n; ++i) {
        int32_t* to = sums.data() + (n + i) * size + n;
        for (int64_t j = 0; j < columns; ++j) to[j] += part[i * columns + j];
      }
    }
  }
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t j = 0; j < i; ++j) sums[j * size + i] = sums[i * size + j];
  }
}

std::vector<int32_t> Products(absl::Span<const int8_t> rows, int64_t size,
                              int64_t count) {
  std::vector<int32_t> sums(static_cast<size_t>(size * size), 0);
  if (size >= kSmall) {
    MatrixProducts(rows, size, count, sums);
    return sums;
  }
  // As int16, of which machines multiply and add pairs at once.
  const std::vector<int16_t> wide(rows.begin(), rows.end());
  for (int64_t i = 0; i < size; ++i) {
    const int16_t* a = wide.data() + i * count;
    for (int64_t j = 0; j <= i; ++j) {
      const int16_t* b = wide.data() + j * count;
      int32_t sum = 0;
      for (int64_t k = 0; k < count; ++k) sum += int32_t{a[k]} * b[k];
      sums[i * size + j] = sums[j * size + i] = sum;
    }
  }
  return sums;
}

// Of `rows`, the integers of a block's elements, less `offset` (of the zero
// point) if not centred.
std::vector<double> BlockMoments(absl::Span<const int8_t> rows, int64_t size,
                                 int64_t count, int64_t depth, bool centred,
                                 double zero) {
  const std::vector<int32_t> sums = Products(rows, size, count);
  const auto n = static_cast<double>(count);
  std::vector<double> mean(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i) {
    int32_t sum = 0;  // Of kMostPatches bytes at most.
    for (int64_t k = 0; k < count; ++k) sum += rows[i * count + k];
    mean[i] = static_cast<double>(sum) / n;
  }
  // Off the diagonal: n patches of `depth` elements.
  const double trust = n / (n + static_cast<double>(depth));
  std::vector<double> moments(sums.size());
  double trace = 0;
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t j = 0; j < size; ++j) {
      const double product = sums[i * size + j] / n;
      const double moment =
          centred ? product - mean[i] * mean[j]
                  : product - zero * (mean[i] + mean[j]) + zero * zero;
      moments[i * size + j] = i == j ? moment : moment * trust;
    }
    trace += moments[i * size + i];
  }
  const double ridge =
      std::max(trace / static_cast<double>(size) * kRidge, 1e-6);
  for (int64_t i = 0; i < size; ++i) {
    double& diagonal = moments[i * size + i];
    diagonal = std::max(diagonal, 0.0) + ridge;
  }
  return moments;
}

}  // namespace

std::vector<ChannelGroup> ChannelGroupsOf(const Graph& graph, const Op& op) {
  const std::vector<int64_t>& weights = WeightsOf(graph, op).shape;
  std::vector<ChannelGroup> groups;
  if (op.attributes.has_depthwise_conv2d()) {
    const int64_t multiplier =
        op.attributes.depthwise_conv2d().depth_multiplier();
    for (int64_t c = 0; c < weights[3]; c += multiplier) {
      groups.push_back({c, multiplier});
    }
    return groups;
  }
  const int64_t count =
      op.attributes.has_conv2d()
          ? std::max<int64_t>(op.attributes.conv2d().groups(), 1)
          : 1;
  for (int64_t g = 0; g < count; ++g) {
    const int64_t channels = weights[0] / count;
    groups.push_back({g * channels, channels});
  }
  return groups;
}

std::vector<int64_t> WeightsOfChannel(const Graph& graph, const Op& op,
                                      int64_t channel) {
  const Tensor& weights = WeightsOf(graph, op);
  const bool last = op.attributes.has_depthwise_conv2d();
  const int64_t channels = weights.shape[last ? 3 : 0];
  const int64_t depth = weights.num_elements() / std::max<int64_t>(channels, 1);
  std::vector<int64_t> indices;
  indices.reserve(static_cast<size_t>(depth));
  for (int64_t j = 0; j < depth; ++j) {
    indices.push_back(last ? j * channels + channel : channel * depth + j);
  }
  return indices;
}

bool HasMoments(const Graph& graph, const Op& op) {
  const Tensor& input = InputOf(graph, op);
  return (input.type == v1::INT8 || input.type == v1::UINT8 ||
          input.type == v1::INT16) &&
         input.num_elements() > 0 &&
         graph.tensors[op.outputs[0]].num_elements() > 0 &&
         WeightsOf(graph, op).num_elements() > 0;
}

int64_t MomentBytes(const Graph& graph, const Op& op) {
  const std::vector<ChannelGroup> groups = ChannelGroupsOf(graph, op);
  int64_t bytes = 0;
  if (groups.empty()) return bytes;
  const int64_t depth = Patches(graph, op, groups[0]).depth();
  for (int64_t first = 0; first < depth; first += kBlock) {
    const int64_t size = std::min(kBlock, depth - first);
    bytes += size * size * static_cast<int64_t>(sizeof(double));
  }
  return bytes * std::ssize(groups);
}

namespace {

// What is added to uint8 to make them int8: moments do not depend on where the
// zero lies.
int32_t OffsetOf(const Tensor& input) {
  return input.type == v1::UINT8 ? -128 : 0;
}

// Elements [first, first + size) of the patches there as rows of one element
// each, [size, positions]; those of each of `groups`, whose elements take
// turns, one behind the other.
std::vector<int8_t> RowsOf(const SampleBatch& batch, const Op& op,
                           const Patches& patches,
                           const std::vector<Position>& positions,
                           int64_t first, int64_t size, int64_t groups) {
  const Tensor& input = InputOf(batch.graph(), op);
  const int64_t depth = patches.depth();
  const int64_t count = std::ssize(positions);
  const int32_t zero = input.quantization->zero_point[0];
  // Some patches at a time, one behind the other, are turned into rows.
  constexpr int64_t kTurned = 16;
  std::vector<int8_t> some(static_cast<size_t>(kTurned * depth));
  const auto read = [&](const Position& position, int8_t* to) {
    const char* values = batch.value(op.inputs[0], position.sample);
    if (input.type == v1::INT16) {
      patches.Read(reinterpret_cast<const int16_t*>(values),
                   static_cast<int16_t>(zero), position,
                   [&](int64_t j, int16_t value) { to[j] = UpperByte(value); });
    } else if (input.type == v1::UINT8) {
      patches.Read(
          reinterpret_cast<const uint8_t*>(values), static_cast<uint8_t>(zero),
          position, [&](int64_t j, uint8_t value) {
            to[j] = static_cast<int8_t>(int32_t{value} + OffsetOf(input));
          });
    } else {
      patches.Read(reinterpret_cast<const int8_t*>(values),
                   static_cast<int8_t>(zero), position,
                   [&](int64_t j, int8_t value) { to[j] = value; });
    }
  };
  const int64_t of_group = size / groups;
  std::vector<int8_t> rows(static_cast<size_t>(size * count));
  for (int64_t k = 0; k < count; k += kTurned) {
    const int64_t turned = std::min(kTurned, count - k);
    for (int64_t t = 0; t < turned; ++t) {
      read(positions[k + t], some.data() + t * depth);
    }
    for (int64_t j = 0; j < size; ++j) {
      const int64_t row = j % groups * of_group + j / groups;
      int8_t* to = rows.data() + row * count + k;
      const int8_t* from = some.data() + first + j;
      for (int64_t t = 0; t < turned; ++t) to[t] = from[t * depth];
    }
  }
  return rows;
}

InputMoments MomentsOfGroup(const SampleBatch& batch, const Op& op,
                            const Patches& patches,
                            const std::vector<Position>& positions,
                            bool centred) {
  const Tensor& input = InputOf(batch.graph(), op);
  const int32_t zero = input.quantization->zero_point[0] + OffsetOf(input);
  const int64_t depth = patches.depth();
  InputMoments result;
  for (int64_t first = 0; first < depth; first += kBlock) {
    const int64_t size = std::min(kBlock, depth - first);
    const std::vector<int8_t> rows =
        RowsOf(batch, op, patches, positions, first, size, /*groups=*/1);
    result.blocks.push_back({first, size,
                             BlockMoments(rows, size, std::ssize(positions),
                                          depth, centred, zero)});
  }
  return result;
}

// Channels of a depthwise convolution whose patches are read at once, as
// neighbours lie side by side. Fewer if their elements exceed kBlock.
constexpr int64_t kChannelsAtOnce = 64;

// Of a depthwise convolution whose patches have `depth` elements, kBlock at
// most, of each channel.
void AddDepthwiseMoments(const SampleBatch& batch, const Op& op,
                         absl::Span<const ChannelGroup> groups,
                         const std::vector<Position>& positions, int64_t depth,
                         bool centred, std::vector<InputMoments>& moments) {
  const Tensor& input = InputOf(batch.graph(), op);
  const int32_t zero = input.quantization->zero_point[0] + OffsetOf(input);
  const int64_t count = std::ssize(positions);
  const int64_t at_once =
      std::clamp<int64_t>(kBlock / depth, 1, kChannelsAtOnce);
  for (size_t at = 0; at < groups.size(); at += at_once) {
    const auto some = groups.subspan(at, at_once);
    const auto channels = std::ssize(some);
    const Patches patches(batch.graph(), op,
                          {some[0].first, channels * some[0].channels});
    const std::vector<int8_t> rows =
        RowsOf(batch, op, patches, positions, 0, patches.depth(), channels);
    for (int64_t g = 0; g < channels; ++g) {
      const auto of_group =
          absl::MakeConstSpan(rows).subspan(g * depth * count, depth * count);
      InputMoments result;
      result.blocks.push_back(
          {0, depth,
           BlockMoments(of_group, depth, count, depth, centred, zero)});
      moments.push_back(std::move(result));
    }
  }
}

}  // namespace

std::vector<InputMoments> MomentsOf(const SampleBatch& batch, const Op& op,
                                    bool centred) {
  std::vector<InputMoments> moments;
  const std::vector<ChannelGroup> groups = ChannelGroupsOf(batch.graph(), op);
  if (groups.empty()) return moments;
  const Patches first(batch.graph(), op, groups[0]);
  std::vector<Position> positions;
  const int64_t all = batch.samples() * first.rows();
  const int64_t count = std::min(
      {all, std::max(kFewestPatches, kPatchesPerElement * first.depth()),
       kMostPatches});
  for (int64_t k = 0; k < count; ++k) {
    const int64_t row = Spread(k, count, all);
    positions.push_back(
        first.PositionOf(row / first.rows(), row % first.rows()));
  }
  if (op.attributes.has_depthwise_conv2d() && first.depth() <= kBlock) {
    AddDepthwiseMoments(batch, op, groups, positions, first.depth(), centred,
                        moments);
    return moments;
  }
  for (const ChannelGroup& group : groups) {
    const Patches patches(batch.graph(), op, group);
    moments.push_back(MomentsOfGroup(batch, op, patches, positions, centred));
  }
  return moments;
}

}  // namespace edgekiln::compiler
