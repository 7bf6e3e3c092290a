#include "compiler/codegen/c/weight_order.h"

#include <algorithm>
#include <cstdint>

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

}  // namespace edgekiln::compiler
