#ifndef EK_TESTS_CHAOS_VERIFY_H_
#define EK_TESTS_CHAOS_VERIFY_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "edgekiln/v1/report.pb.h"

namespace edgekiln::chaos {

// OK if both reports say the same of network and chip; the first differences
// otherwise. Job ids, times and cache hits do not count.
absl::Status SameReport(const v1::Report& expected, const v1::Report& actual);

struct BlobCount {
  int64_t blobs = 0;
  int64_t bytes = 0;
  // Of another size than their names say, which a store takes for absent: what
  // a power failure leaves of blobs that were buffered.
  int64_t torn = 0;
};

// Reads every blob below the folder of a disk store that nobody uses.
// DATA_LOSS naming the first of the right size whose bytes are not those of its
// name.
absl::StatusOr<BlobCount> VerifyBlobs(const std::string& folder);

}  // namespace edgekiln::chaos

#endif  // EK_TESTS_CHAOS_VERIFY_H_
