#ifndef EK_COMPILER_DATASET_PACK_H_
#define EK_COMPILER_DATASET_PACK_H_

// Outputs of a network as an .npz file.

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/dataset/port_conversion.h"
#include "edgekiln/v1/graph.pb.h"
#include "edgekiln/v1/stage.pb.h"

namespace edgekiln::compiler {

// Empty: no output is converted.
using OutputConversions = std::vector<std::optional<PortConversion>>;

// One array per output, named like it, in the network's own element type; for
// outputs with a conversion, by their index, that of the source model.
// Samples lie along the first axis, in place of the output's own batch of 1.
// `chunks` hold consecutive samples from 0 in any order. Transforms of inputs
// do not concern outputs and are left alone; one that names an output is
// UNIMPLEMENTED. Other errors: INVALID_ARGUMENT (chunks that do not belong
// together), OUT_OF_RANGE (4 GiB).
absl::StatusOr<std::string> PackOutputs(const v1::PackOutputsOptions& options,
                                        absl::Span<const v1::Chunk> chunks,
                                        const OutputConversions& outputs = {});

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DATASET_PACK_H_
