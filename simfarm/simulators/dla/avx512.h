#ifndef EK_SIMFARM_SIMULATORS_DLA_AVX512_H_
#define EK_SIMFARM_SIMULATORS_DLA_AVX512_H_

// Loops of the compute unit for AVX-512 with VNNI. Inputs come as unsigned
// bytes, value + 128: their products with int8 weights accumulate exactly
// (the instruction wraps at 32 bits, it does not saturate), and what the 128
// and the input's zero point add is taken back through the biases.
//
// Call nothing but Supported() where that is false.

#include <cstdint>

#include "simfarm/simulators/arithmetic.h"

namespace edgekiln::simfarm::dla::avx512 {

inline constexpr int64_t kLanes = 16;  // Channels of a vector of sums.
inline constexpr int64_t kMaxVectors = 4;
inline constexpr int64_t kMaxPixels = 8;
inline constexpr int64_t kDepthwiseLanes = 64;
// Loads reach this far past the values that they need.
inline constexpr int64_t kSlack = 64;

bool Supported();

// How many pixels a ConvolutionBlock of so many vectors may have.
inline int64_t MaxPixels(int64_t vectors) {
  return vectors == kMaxVectors ? 6 : kMaxPixels;
}

// From sums to results, by channel. Readable up to a multiple of 64 channels.
struct Requantization {
  const int32_t* bias = nullptr;
  const int32_t* multiplier = nullptr;
  const int32_t* n = nullptr;  // As of Rescale(); not read if writes_int32.
  OutputLimits limits;
  bool writes_int32 = false;
  bool half_even = false;

  Requantization From(int64_t channel) const;
};

// Weights [channel][segment][segment_bytes] to [channels / 16][segment][quad]
// [16][4], missing ones 0. A segment is what lies together in the input, a quad
// four bytes of it. `sums` receives each channel's sum of weights, wrapping, up
// to a multiple of 16 channels.
struct WeightShape {
  int64_t channels = 0;
  int64_t segments = 0;
  int64_t segment_bytes = 0;

  int64_t quads() const { return (segment_bytes + 3) / 4; }
  int64_t vector_bytes() const { return segments * quads() * kLanes * 4; }
};
void PackWeights(const uint8_t* weights, const WeightShape& shape,
                 int8_t* packed, int32_t* sums);

// 1 to MaxPixels(vectors) pixels times 1 to kMaxVectors vectors of channels.
struct ConvolutionBlock {
  const uint8_t* pixels[kMaxPixels];  // Where the segments' offsets start.
  uint8_t* outputs[kMaxPixels];       // At the block's first channel.
  int64_t num_pixels = 0;
  const int64_t* segment_offsets = nullptr;
  WeightShape shape;
  const int8_t* weights = nullptr;  // Packed, at the block's first channel.
  int64_t vectors = 0;
  int64_t channels = 0;  // At most vectors * kLanes.
  Requantization requantization;
};
void Convolve(const ConvolutionBlock& block);

// out[o] = sum of x[i] * weights[o][i] - offset * sum of weights[o], wrapping,
// with weights as they are; for a pixel that is not worth packing them.
void MultiplyRows(const uint8_t* x, const uint8_t* weights, int64_t channels,
                  int64_t count, int32_t offset, int32_t* out);

// One row of results of a depthwise convolution for up to 64 channels.
struct DepthwiseRow {
  const uint8_t* input = nullptr;  // Tap offsets count from here.
  const int64_t* tap_offsets = nullptr;
  int64_t tap_groups = 0;            // Of four.
  const uint8_t* weights = nullptr;  // [tap group][4][16][4], see below.
  int64_t pixels = 0;
  int64_t input_step = 0;     // From pixel to pixel.
  int64_t output_step = 0;    // Alike, in bytes.
  int64_t channels = 0;       // 1 to 64.
  int64_t last_channels = 0;  // Of the last pixel.
  Requantization requantization;
  uint8_t* output = nullptr;
};
void ConvolveDepthwise(const DepthwiseRow& row);

// The weights of four taps of 64 channels as ConvolveDepthwise() reads them.
void PackDepthwise(const uint8_t taps[4][kDepthwiseLanes], uint8_t* packed);

// Adds biases and writes `channels` results.
void Requantize(const int32_t* sums, int64_t channels,
                const Requantization& requantization, uint8_t* out);

// Rescaled addition of one row (E_ADD).
struct Addition {
  int32_t zero_point[2] = {};
  int left_shift = 0;
  bool half_even = false;
  int32_t multiplier[3] = {};  // Of the operands, of the result.
  int32_t n[3] = {};
  OutputLimits limits;
};
void Add(const Addition& addition, const uint8_t* a, const uint8_t* b,
         int64_t count, uint8_t* out);

}  // namespace edgekiln::simfarm::dla::avx512

#endif  // EK_SIMFARM_SIMULATORS_DLA_AVX512_H_
