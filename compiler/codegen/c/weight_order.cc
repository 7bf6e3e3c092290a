#include "compiler/codegen/c/weight_order.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"

namespace edgekiln::compiler {
namespace {

constexpr int64_t kBlock = 4;

int64_t ChannelsOf(const StepWriter& w) {
  return w.op().has_depthwise_conv2d() ? w.In(1).shape.back()
                                       : w.In(1).shape[0];
}

std::vector<int8_t> Interleaved(const int8_t* weights, int64_t channels,
                                int64_t depth) {
  std::vector<int8_t> packed;
  packed.reserve(static_cast<size_t>(channels * depth));
  for (int64_t first = 0; first < channels; first += kBlock) {
    const int64_t count = std::min(kBlock, channels - first);
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t c = 0; c < count; ++c) {
        packed.push_back(weights[(first + c) * depth + k]);
      }
    }
  }
  return packed;
}

// Of weights [1, h, w, o], or [o, h, w, c].
std::vector<int8_t> Planes(const StepWriter& w, const int8_t* weights,
                           int64_t channels) {
  const std::vector<int64_t>& shape = w.In(1).shape;
  const bool depthwise = w.op().has_depthwise_conv2d();
  const int64_t positions = shape.size() == 4 ? shape[1] * shape[2] : 1;
  const int64_t depth = depthwise ? 1 : shape.back();
  std::vector<int8_t> planes;
  planes.reserve(static_cast<size_t>(w.In(1).num_elements()));
  for (int64_t o = 0; o < channels; ++o) {
    for (int64_t c = 0; c < depth; ++c) {
      for (int64_t k = 0; k < positions; ++k) {
        planes.push_back(weights[depthwise ? k * channels + o
                                           : (o * positions + k) * depth + c]);
      }
    }
  }
  return planes;
}

}  // namespace

std::vector<int8_t> WeightsInOrder(const StepWriter& w,
                                   v1::CWeightOrder order) {
  const auto* weights = reinterpret_cast<const int8_t*>(w.In(1).data->data());
  const int64_t channels = ChannelsOf(w);
  switch (order) {
    case v1::INTERLEAVED_BY_4:
      return Interleaved(weights, channels, w.In(1).num_elements() / channels);
    case v1::PLANES:
      return Planes(w, weights, channels);
    default:
      return {weights, weights + w.In(1).num_elements()};
  }
}

std::vector<int8_t> WeightsInOrder(const StepWriter& w,
                                   const std::vector<int32_t>& order) {
  const auto* weights = reinterpret_cast<const int8_t*>(w.In(1).data->data());
  std::vector<int8_t> result;
  result.reserve(order.size());
  for (const int32_t i : order) result.push_back(i < 0 ? 0 : weights[i]);
  return result;
}

std::vector<int64_t> WeightSums(const StepWriter& w) {
  if (!w.Has(1) || !w.In(1).is_constant() || ElementBytes(w.In(1).type) != 1 ||
      w.In(1).shape.empty() || w.In(1).num_elements() == 0) {
    return {};
  }
  const absl::string_view bytes = *w.In(1).data;
  const bool is_signed = w.In(1).type == v1::INT8;
  const int64_t channels = ChannelsOf(w);
  const int64_t depth = w.In(1).num_elements() / channels;
  const bool channels_last = w.op().has_depthwise_conv2d();
  std::vector<int64_t> sums(static_cast<size_t>(channels));
  for (int64_t i = 0; i < w.In(1).num_elements(); ++i) {
    const char byte = bytes[static_cast<size_t>(i)];
    const int64_t value = is_signed ? static_cast<int8_t>(byte)
                                    : int64_t{static_cast<uint8_t>(byte)};
    sums[static_cast<size_t>(channels_last ? i % channels : i / depth)] +=
        value;
  }
  return sums;
}

std::vector<int64_t> Biases(const StepWriter& w) {
  if (!w.Has(2) || !w.In(2).is_constant() || w.In(2).type != v1::INT32) {
    return {};
  }
  const absl::string_view bytes = *w.In(2).data;
  std::vector<int64_t> biases(bytes.size() / sizeof(int32_t));
  for (size_t i = 0; i < biases.size(); ++i) {
    int32_t value = 0;
    std::memcpy(&value, bytes.data() + i * sizeof(value), sizeof(value));
    biases[i] = value;
  }
  return biases;
}

}  // namespace edgekiln::compiler
