#ifndef EK_OPS_CONVERTER_H_
#define EK_OPS_CONVERTER_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "edgekiln/v1/graph.pb.h"
#include "ops/kernels.h"
#include "ops/prepared.h"
#include "ops/quantized_parameters.h"
#include "ops/rules.h"

// What the converter of an analog array makes of int32 sums, docs/numerics.md
// section 3.20.
//
// Thread-safe: pure functions.
namespace edgekiln::ops {

// One sum of output channel `c`.
int32_t Convert(const v1::Converter& converter, int64_t c, int32_t sum,
                QuantizedRange range);

// OK without a converter. INVALID_ARGUMENT for one of an op that has none, of
// results that are not int8 with zero point 0, and for numbers out of range.
absl::Status CheckConverter(const v1::OpAttributes& op, Views inputs,
                            Views outputs);

// The prepare() of an op with a converter: null of Requantize, which has
// nothing to prepare.
absl::StatusOr<std::unique_ptr<PreparedOp>> PrepareConverted(
    const v1::OpAttributes& op, Inputs inputs, Views outputs);

// The compute() of an op with a converter: of Requantize, and of ops that sum
// products, whose sums take as much memory again as int32 results.
absl::Status ComputeConverted(const v1::OpAttributes& op, Inputs inputs,
                              Outputs outputs, CpuPath path);

}  // namespace edgekiln::ops

#endif  // EK_OPS_CONVERTER_H_
