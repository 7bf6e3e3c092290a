#ifndef EK_SIMFARM_CONFORMANCE_REGISTER_JOB_NAIVE_VARIABLES_H_
#define EK_SIMFARM_CONFORMANCE_REGISTER_JOB_NAIVE_VARIABLES_H_

// Section 3 of docs/targets/register_job.md.

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::simfarm::conformance::register_job {

// Variables of one range.
struct NaiveRange {
  const char* names;  // With spaces between them.
  int64_t low;
  int64_t high;
};
// Every variable is in one of them.
absl::Span<const NaiveRange> NaiveRanges();

// Names of what a kernel depends on, with spaces between them.
std::string DependsOn(v1::RegisterJobs::Kernel kernel,
                      v1::RegisterJobs::Results results);

}  // namespace edgekiln::simfarm::conformance::register_job

#endif  // EK_SIMFARM_CONFORMANCE_REGISTER_JOB_NAIVE_VARIABLES_H_
