#ifndef EK_TARGET_QUANTIZATION_NEEDS_H_
#define EK_TARGET_QUANTIZATION_NEEDS_H_

#include "edgekiln/v1/target.pb.h"

namespace edgekiln::target {

// How a float network must be quantized for the chip's engines. A need is set
// only if every pattern has it; chips without engines have none. Targets with
// equal needs share the quantized graph.
//
// - per_tensor: ops whose weights have one scale in every pattern that has the
// op. If another engine takes a scale per channel, weights stay per channel and
// that engine gets the op. - symmetric_activations: no pattern takes zero
// points. - power_of_two_scales: every pattern that requantizes does so by a
// shift.
//
// Patterns that take no int8, which is what we quantize to, do not count.
v1::QuantizationNeeds QuantizationNeedsOf(const v1::Capabilities& capabilities);

}  // namespace edgekiln::target

#endif  // EK_TARGET_QUANTIZATION_NEEDS_H_
