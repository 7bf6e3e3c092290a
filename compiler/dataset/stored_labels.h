#ifndef EK_COMPILER_DATASET_STORED_LABELS_H_
#define EK_COMPILER_DATASET_STORED_LABELS_H_

// Class indices as a data set stores them.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/dataset/npy.h"
#include "compiler/dataset/sample_reader.h"

namespace edgekiln::compiler {

// One per sample; as a column, too (Nx1).
bool IsLabelShape(absl::Span<const int64_t> shape, int64_t samples);

// INVALID_ARGUMENT, with `name`, if the shape is none of labels.
absl::Status CheckLabelShape(absl::Span<const int64_t> shape, int64_t samples,
                             const std::string& name);

// The first `wanted` labels; -1 = none. The shape has been checked.
// INVALID_ARGUMENT: damaged, no integers, or out of range.
absl::StatusOr<std::vector<int32_t>> ReadLabels(const NpyInfo& info,
                                                int64_t wanted,
                                                SampleReader& reader,
                                                const std::string& name);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DATASET_STORED_LABELS_H_
