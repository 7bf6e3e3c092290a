#ifndef EK_TESTS_CHAOS_CUT_UPLOAD_H_
#define EK_TESTS_CHAOS_CUT_UPLOAD_H_

// An upload through a network that breaks.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace edgekiln::chaos {

// What may be sent again after one cut.
inline constexpr int64_t kMaxResentBytes = int64_t{4} << 20;

struct CutUploadOptions {
  std::string bin;  // Folder of the programs.
  int64_t megabytes = 200;
  int cuts = 20;
  uint64_t seed = 1;  // Of content and cuts.
};

struct CutUpload {
  int64_t bytes = 0;
  int resumes = 0;  // That sent something again.
  int64_t resent_bytes = 0;
  int64_t worst_resent_bytes = 0;  // After one cut.
  int64_t wire_bytes = 0;          // With framing and what was lost.
  absl::Duration took;
};

// Uploads a blob to a daemon of its own while the connection is cut at random
// places, and reads it back. To be called by the main thread. Errors: those of
// the upload; INTERNAL (it was over before all cuts were made); DATA_LOSS (it
// is not stored as it was).
absl::StatusOr<CutUpload> RunCutUpload(const CutUploadOptions& options);

}  // namespace edgekiln::chaos

#endif  // EK_TESTS_CHAOS_CUT_UPLOAD_H_
