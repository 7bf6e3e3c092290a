#ifndef EK_SERVER_WORKER_STAGES_SOURCE_FILES_H_
#define EK_SERVER_WORKER_STAGES_SOURCE_FILES_H_

// C sources as files for a compiler.

#include <string>

#include "absl/status/status.h"
#include "edgekiln/v1/firmware.pb.h"

namespace edgekiln::server {

// INVALID_ARGUMENT (Fault::kInfra: code generation makes trees) unless every
// path is relative and of at most 255 bytes, its components are of letters,
// digits, "._-", do not begin with "." or "-", paths are rising, and neither
// the number of files nor their bytes are more than a network may have.
absl::Status CheckSourceTree(const v1::CSourceTree& tree);

// Writes the files of a tree into `folder`, which is empty. Errors also as of
// CheckSourceTree() and FileSystem.
absl::Status WriteSourceTree(const v1::CSourceTree& tree,
                             const std::string& folder);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_STAGES_SOURCE_FILES_H_
