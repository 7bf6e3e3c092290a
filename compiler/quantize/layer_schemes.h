#ifndef EK_COMPILER_QUANTIZE_LAYER_SCHEMES_H_
#define EK_COMPILER_QUANTIZE_LAYER_SCHEMES_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "compiler/quantize/scales.h"
#include "edgekiln/v1/quantization.pb.h"
#include "edgekiln/v1/stage.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// INVALID_ARGUMENT for values that no enum of the message has, or a share or
// number of samples out of range.
absl::Status CheckQuantizationConfig(const v1::QuantizationConfig& config);

// What activations become: what is asked for, else what the target needs, else
// INT8.
v1::ElementType ActivationsOf(const v1::QuantizationConfig& config,
                              const v1::QuantizationNeeds& needs);

// The needs that still hold with these activations. If engines take another
// type, layers run on the host and no limits apply. UINT8 becomes INT8 for
// engines, so all hold but converters, whose results are INT8.
v1::QuantizationNeeds NeedsWith(v1::ElementType activations,
                                v1::QuantizationNeeds needs);

// With the needs that hold for the activations that the options ask for.
v1::QuantizeOptions WithHeldNeeds(v1::QuantizeOptions options);

// Whether layers may have sums of 64 bits: those of INT16, not on engines.
bool MayBeWide(v1::ElementType activations, const v1::QuantizationNeeds& needs);

// Scales and zero points by both, for NeedsWith().
ScaleRules RulesFor(const v1::QuantizationConfig& config,
                    const v1::QuantizationNeeds& needs);

// By op: whether its scheme keeps it float.
std::vector<bool> KeptFloat(const std::vector<v1::LayerScheme>& schemes);

// What the config's rules say of each op, by index; fields that none sets are
// unspecified. INVALID_ARGUMENT as below.
absl::StatusOr<std::vector<v1::LayerScheme>> AskedSchemes(
    const Graph& graph, const v1::QuantizationConfig& config);

// What is done to each op, by index: the config's rules where it has any, else
// what the target needs, else the defaults. Every field is set. Without samples
// nothing can be measured: what asks for it becomes the nearest thing that
// needs none.
//
// INVALID_ARGUMENT if a rule is about no layer (the error names those that are
// near), or about weights of a layer that has none, or if ranges are asked for
// by a method that INT16 does not have; UNIMPLEMENTED if a scheme is asked for
// that the target lacks.
//
// Where an engine takes ternary weights only, layers get int8 weights, which
// run on the host, unless ternary ones are asked for: without training they
// ruin most networks.
absl::StatusOr<std::vector<v1::LayerScheme>> LayerSchemes(
    const Graph& graph, const v1::QuantizationConfig& config,
    const v1::QuantizationNeeds& needs, bool has_samples);

// The converter that makes results of the op's sums, on the engine that takes
// no more than such weights; null: factors do, or no engine takes them.
const v1::Numerics::Converter* ConverterOf(const v1::QuantizationNeeds& needs,
                                           const Op& op,
                                           v1::LayerScheme::Weights weights);

// Bits of the accumulator of the engine that takes such weights of the op, if
// fewer than 32; 0: no engine takes them, or one has as many.
int32_t AccumulatorBitsOf(const v1::QuantizationNeeds& needs, const Op& op,
                          v1::LayerScheme::Weights weights);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_LAYER_SCHEMES_H_
