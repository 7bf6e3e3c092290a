#ifndef EK_COMPILER_DATASET_SYNTHESIZE_H_
#define EK_COMPILER_DATASET_SYNTHESIZE_H_

// Inputs for when there is no data: reproducible, and not meant to look like
// anything.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/dataset/convert.h"
#include "edgekiln/v1/graph.pb.h"
#include "edgekiln/v1/stage.pb.h"

namespace edgekiln::compiler {

inline constexpr int64_t kSyntheticSamples = 16;

// Uniform over the whole range of 8- and 16-bit types, -1 .. 1 (not included)
// for floats, 0 and 1 for bool, -128 .. 127 for wider integers with a scale.
// Those without one are tokens, indices and masks: 0 and 1, which any model
// takes. A sample depends on the seed and its own number only, not on how
// samples are chunked. 0 samples: the default, kSyntheticSamples, or 1 for a
// model without inputs, which computes the same each time.
// States (empty: none) are carried from sample to sample.
// Errors: INVALID_ARGUMENT (sizes, too many samples); those of `admit`, as in
// ConvertDataSet().
absl::StatusOr<std::vector<v1::Chunk>> SynthesizeData(
    const v1::SynthesizeDataOptions& options,
    absl::Span<const v1::TensorType> inputs, const AdmitBytes& admit = nullptr,
    const std::vector<bool>& is_state = {});

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DATASET_SYNTHESIZE_H_
