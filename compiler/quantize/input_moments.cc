#include "compiler/quantize/input_moments.h"

#include <algorithm>
#include <type_traits>

#include "ops/evaluate.h"

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

// Reads the elements of patches. A position outside the input is -1.
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
      channels_ = 1;
      first_channel_ =
          group.first / op.attributes.depthwise_conv2d().depth_multiplier();
    } else {
      channels_ = weights[3];
      first_channel_ = group.first / group.channels * channels_;
    }
    depth_ = kernel_h_ * kernel_w_ * channels_;
    rows_ = out[0] * out_h_ * out_w_;
  }

  int64_t depth() const { return depth_; }
  int64_t rows() const { return rows_; }

  // Calls put(j, value) for the elements of patch `row`.
  template <typename T, typename Put>
  void Read(const T* values, T zero, int64_t row, const Put& put) const {
    if (!is_window_) {
      for (int64_t j = 0; j < depth_; ++j) put(j, values[row * depth_ + j]);
      return;
    }
    const int64_t in_h = input_.shape[1];
    const int64_t in_w = input_.shape[2];
    const int64_t in_c = input_.shape[3];
    const int64_t x = row % out_w_;
    const int64_t y = row / out_w_ % out_h_;
    const int64_t n = row / out_w_ / out_h_;
    int64_t j = 0;
    for (int64_t ky = 0; ky < kernel_h_; ++ky) {
      const int64_t in_y = y * window_.stride_h() - window_.pad_top() +
                           ky * window_.dilation_h();
      for (int64_t kx = 0; kx < kernel_w_; ++kx) {
        const int64_t in_x = x * window_.stride_w() - window_.pad_left() +
                             kx * window_.dilation_w();
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

// Sums of products of the rows of [size, count] int8.
// By the reference's own kernel; false if it does not take that many.
bool MatrixProduct(const std::vector<int8_t>& rows, int64_t size, int64_t count,
                   std::vector<int32_t>& sums) {
  const std::vector<int64_t> shape = {size, count};
  const std::vector<int64_t> square = {size, size};
  const std::vector<float> scale = {1};
  const std::vector<int32_t> zero = {0};
  const ops::QuantizationView quantization = {scale, zero, 0};
  const ops::TensorView matrix = {v1::INT8, shape, rows.data(), quantization};
  v1::OpAttributes product;
  product.mutable_fully_connected();
  const absl::Status done =
      ops::Evaluate(product, {matrix, matrix},
                    {{v1::INT32, square, sums.data(), quantization}});
  return done.ok();
}

std::vector<int32_t> Products(const std::vector<int8_t>& rows, int64_t size,
                              int64_t count) {
  std::vector<int32_t> sums(static_cast<size_t>(size * size));
  if (size >= kSmall && MatrixProduct(rows, size, count, sums)) return sums;
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      int32_t sum = 0;
      for (int64_t k = 0; k < count; ++k) {
        sum += int32_t{rows[i * count + k]} * rows[j * count + k];
      }
      sums[i * size + j] = sums[j * size + i] = sum;
    }
  }
  return sums;
}

// Of `rows`, the integers of a block's elements, less `offset` (of the zero
// point) if not centred.
std::vector<double> BlockMoments(const std::vector<int8_t>& rows, int64_t size,
                                 int64_t count, int64_t depth, bool centred,
                                 double zero) {
  const std::vector<int32_t> sums = Products(rows, size, count);
  const auto n = static_cast<double>(count);
  std::vector<double> mean(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i) {
    int64_t sum = 0;
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

InputMoments MomentsOf(const SampleBatch& batch, const Op& op,
                       const ChannelGroup& group, bool centred) {
  const Graph& graph = batch.graph();
  const Patches patches(graph, op, group);
  const Tensor& input = InputOf(graph, op);
  const int64_t depth = patches.depth();
  const int64_t all = batch.samples() * patches.rows();
  const int64_t count =
      std::min({all, std::max(kFewestPatches, kPatchesPerElement * depth),
                kMostPatches});
  // uint8 as int8: moments do not depend on where the zero lies.
  const bool is_unsigned = input.type == v1::UINT8;
  const int32_t offset = is_unsigned ? 128 : 0;
  const int32_t zero = input.quantization->zero_point[0] - offset;
  InputMoments result;
  for (int64_t first = 0; first < depth; first += kBlock) {
    const int64_t size = std::min(kBlock, depth - first);
    std::vector<int8_t> rows(static_cast<size_t>(size * count));
    for (int64_t k = 0; k < count; ++k) {
      const int64_t row = Spread(k, count, all);
      const char* values = batch.value(op.inputs[0], row / patches.rows());
      const auto put = [&](int64_t j, auto value) {
        if (j < first || j >= first + size) return;
        int8_t& element = rows[(j - first) * count + k];
        if constexpr (std::is_same_v<decltype(value), int16_t>) {
          element = UpperByte(value);
        } else {
          element = static_cast<int8_t>(int32_t{value} - offset);
        }
      };
      const int64_t within = row % patches.rows();
      if (input.type == v1::INT16) {
        patches.Read(reinterpret_cast<const int16_t*>(values),
                     static_cast<int16_t>(zero), within, put);
      } else if (is_unsigned) {
        patches.Read(reinterpret_cast<const uint8_t*>(values),
                     static_cast<uint8_t>(zero + offset), within, put);
      } else {
        patches.Read(reinterpret_cast<const int8_t*>(values),
                     static_cast<int8_t>(zero), within, put);
      }
    }
    result.blocks.push_back(
        {first, size, BlockMoments(rows, size, count, depth, centred, zero)});
  }
  return result;
}

}  // namespace edgekiln::compiler
