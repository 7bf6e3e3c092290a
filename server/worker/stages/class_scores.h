#ifndef EK_SERVER_WORKER_STAGES_CLASS_SCORES_H_
#define EK_SERVER_WORKER_STAGES_CLASS_SCORES_H_

// What a network's first output means to whoever measures the network.

#include <cstdint>

#include "absl/types/span.h"
#include "edgekiln/v1/data.pb.h"

namespace edgekiln::server {

// Classes that the network's first output has scores of: it is a vector of at
// least two values per sample and has another shape than the first input (the
// reconstruction of an auto-encoder is no class). Where no label says that
// there are classes, it must be the only output: detectors have several. 0
// otherwise.
int64_t ClassesOf(absl::Span<const v1::TensorType> inputs,
                  absl::Span<const v1::TensorType> outputs, bool labelled);

// Whether that output has the shape of the first input, as an auto-encoder's.
bool Reconstructs(absl::Span<const v1::TensorType> inputs,
                  absl::Span<const v1::TensorType> outputs);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_STAGES_CLASS_SCORES_H_
