#ifndef EK_SERVER_DAEMON_STAGES_STAGE_KEY_H_
#define EK_SERVER_DAEMON_STAGES_STAGE_KEY_H_

// The name of a stage result: SHA-256 over the stage's version, its typed
// options and the digests of its inputs with their roles. Written by hand,
// field by field, so that an unknown or reordered protobuf field never changes
// a key by accident; stage_key_test.cc fails when an options message gains a
// field that is not encoded here. Pure; thread-safe.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/data.pb.h"
#include "edgekiln/v1/stage.pb.h"

namespace edgekiln::server {

// 64 hex digits. Inputs count in the order given: chunks are a sequence.
// Errors: INVALID_ARGUMENT (no options, no version, or a malformed
// digest).
absl::StatusOr<std::string> StageKey(absl::string_view stage_version,
                                     const v1::StageOptions& options,
                                     const std::vector<v1::BlobRef>& inputs);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_STAGES_STAGE_KEY_H_
