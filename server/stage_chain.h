#ifndef EK_SERVER_STAGE_CHAIN_H_
#define EK_SERVER_STAGE_CHAIN_H_

// Stages that one lease executes one after the other
// (docs/design/0032-chains-of-stages.md). For daemon and workers.

#include <vector>

#include "absl/status/statusor.h"
#include "edgekiln/v1/data.pb.h"
#include "edgekiln/v1/stage.pb.h"

namespace edgekiln::server {

// `inputs` of a stage of a chain. Each that has no digest becomes the output
// with its role of the latest result in `before` that has any. INTERNAL if none
// or more than one is there.
absl::StatusOr<std::vector<v1::BlobRef>> ChainedInputs(
    std::vector<v1::BlobRef> inputs,
    const std::vector<const v1::StageResult*>& before);

}  // namespace edgekiln::server

#endif  // EK_SERVER_STAGE_CHAIN_H_
