#include "compiler/quantize/extremes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace edgekiln::compiler {
namespace {

constexpr size_t kLanes = 4;
constexpr size_t kVectors = 2;
using Vector [[gnu::vector_size(kLanes * sizeof(float))]] = float;
using Truth [[gnu::vector_size(kLanes * sizeof(float))]] = int32_t;

}  // namespace

// In lanes, so that no comparison waits for the one before it.
Extremes ExtremesOf(absl::Span<const float> values) {
  Vector low[kVectors];
  Vector high[kVectors];
  Truth strange[kVectors] = {};
  for (size_t v = 0; v < kVectors; ++v) {
    low[v] = high[v] = Vector{} + values[0];
  }
  constexpr size_t kStep = kLanes * kVectors;
  const size_t whole = values.size() / kStep * kStep;
  for (size_t i = 0; i < whole; i += kStep) {
    for (size_t v = 0; v < kVectors; ++v) {
      Vector some;
      std::memcpy(&some, values.data() + i + v * kLanes, sizeof(some));
      low[v] = some < low[v] ? some : low[v];
      high[v] = some > high[v] ? some : high[v];
      strange[v] |= some != some;
    }
  }
  Extremes result = {low[0][0], high[0][0], values[0] == values[0]};
  for (size_t i = whole; i < values.size(); ++i) {
    result.low = std::min(result.low, values[i]);
    result.high = std::max(result.high, values[i]);
    result.numbers = result.numbers && values[i] == values[i];
  }
  for (size_t v = 0; v < kVectors; ++v) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      result.low = std::min(result.low, low[v][lane]);
      result.high = std::max(result.high, high[v][lane]);
      result.numbers = result.numbers && strange[v][lane] == 0;
    }
  }
  return result;
}

}  // namespace edgekiln::compiler
