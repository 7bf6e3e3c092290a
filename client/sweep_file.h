#ifndef EK_CLIENT_SWEEP_FILE_H_
#define EK_CLIENT_SWEEP_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/sweep.pb.h"

namespace edgekiln::client {

inline constexpr size_t kMaxSweepFileBytes = size_t{1} << 20;

// Reads a SweepRequest in text form. The schema is closed: an unknown key is an
// error that names line, key and the nearest known one. `path`: for messages.
// A usage error.
absl::StatusOr<v1::SweepRequest> ParseSweepFile(absl::string_view text,
                                                const std::string& path);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_SWEEP_FILE_H_
