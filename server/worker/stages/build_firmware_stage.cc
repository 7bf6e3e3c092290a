#include "server/worker/stages/stages.h"

namespace edgekiln::server {

absl::StatusOr<StageOutput> RunBuildFirmware(
    const v1::BuildFirmwareOptions& options, const StageInputs& inputs) {
  (void)options, (void)inputs;
  return absl::UnimplementedError("");
}

}  // namespace edgekiln::server
