#include "simfarm/conformance/register_job/job_case.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace edgekiln::simfarm::conformance::register_job {

std::string FirstDifference(const JobOutcome& a, const JobOutcome& b) {
  if (a.error.empty() != b.error.empty()) {
    return absl::StrCat("refused: \"", a.error, "\" and \"", b.error, "\"");
  }
  if (!a.error.empty()) return "";
  if (a.cycles != b.cycles) {
    return absl::StrCat("cycles ", absl::StrJoin(a.cycles, ","), " and ",
                        absl::StrJoin(b.cycles, ","));
  }
  if (a.too_long != b.too_long) return "one was too long";
  if (a.memory.size() != b.memory.size()) return "sizes of memory";
  for (size_t i = 0; i < a.memory.size(); ++i) {
    if (a.memory[i] == b.memory[i]) continue;
    return absl::StrCat("byte ", i, " is ", int{a.memory[i]}, " and ",
                        int{b.memory[i]});
  }
  return "";
}

}  // namespace edgekiln::simfarm::conformance::register_job
