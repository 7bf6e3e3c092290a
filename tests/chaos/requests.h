#ifndef EK_TESTS_CHAOS_REQUESTS_H_
#define EK_TESTS_CHAOS_REQUESTS_H_

// Validations that differ from each other, so that a farm has work to do on
// each of them: networks with data, on chips of varying size.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "base/rng.h"
#include "client/connection.h"
#include "edgekiln/v1/jobs.pb.h"
#include "tests/chaos/farm.h"

namespace edgekiln::chaos {

struct Work {
  std::string name;
  std::string model;        // Path.
  std::string data;         // Path.
  std::string calibration;  // Path; empty: the network is quantized.
  int64_t limit = 0;        // Samples; 0 = all.
};

// What the repository has and, if its folder is given, the shared networks.
std::vector<Work> AllWork(const std::string& source, const std::string& shared);

// `count` bytes that nothing compresses.
std::string RandomBytes(int64_t count, Rng& rng);

// A chip in the file `path` that no other `number` has.
absl::Status WriteChip(FileSystem& files, int number, const std::string& path);

// The job, with everything it names uploaded. `target` is the path of a chip.
absl::StatusOr<v1::CreateJobRequest> Prepare(const Work& work,
                                             const std::string& target,
                                             const std::string& request_id,
                                             FileSystem& files,
                                             client::Connection& connection);

}  // namespace edgekiln::chaos

#endif  // EK_TESTS_CHAOS_REQUESTS_H_
