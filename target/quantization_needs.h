#ifndef EK_TARGET_QUANTIZATION_NEEDS_H_
#define EK_TARGET_QUANTIZATION_NEEDS_H_

#include "edgekiln/v1/target.pb.h"

namespace edgekiln::target {

// How a float network must be quantized for the chip's engines. A need is set
// only if every pattern has it; chips without engines have none. Targets with
// equal needs share the quantized graph.
//
// - per_tensor: ops whose weights have one scale in every pattern that has the
//   op. If another engine takes a scale per channel, weights stay per channel
//   and that engine gets the op.
// - symmetric_activations: no pattern takes zero points.
// - power_of_two_scales: every pattern that requantizes by factors does so by a
//   shift.
// - ops: conv2d, depthwise_conv2d and fully_connected, where some pattern of
//   the op takes some weights only, or converts sums (Numerics.ADC), or where
//   no pattern of the op holds sums of 32 bits.
//   weight_values are the most that a pattern takes: they bound the integers
//   that weights are quantized to. With `converter`, the op's sums become int8
//   by an OpAttributes.converter with just these min and max, a gain and a
//   shift up to the largest, rounding FLOOR and an output with zero point 0; it
//   is set if every pattern with such weights has one. `narrower` is the same
//   of patterns that take fewer values. `accumulator_bits` are the most that
//   one of the patterns with such weights has, if below 32.
// - activations: INT16, else UINT8, if no pattern takes INT8.
// - rounding: FLOOR if every pattern that requantizes by factors has no other:
//   of convolutions, fully connected layers and additions. Everything else,
//   averages included, keeps HALF_UP.
// - equal_addends: every pattern that has `add` takes operands of one scale
//   only, and there is one.
//
// Patterns of other activations than these, or that take no int8 weights, do
// not count.
v1::QuantizationNeeds QuantizationNeedsOf(const v1::Capabilities& capabilities);

}  // namespace edgekiln::target

#endif  // EK_TARGET_QUANTIZATION_NEEDS_H_
