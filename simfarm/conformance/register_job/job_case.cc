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
  if (a.memories.size() != b.memories.size()) return "numbers of memories";
  for (size_t m = 0; m < a.memories.size(); ++m) {
    const std::string& one = a.memories[m];
    const std::string& other = b.memories[m];
    if (one.size() != other.size()) return "sizes of memory";
    for (size_t i = 0; i < one.size(); ++i) {
      if (one[i] == other[i]) continue;
      return absl::StrCat("byte ", i, " of memory ", m, " is ", int{one[i]},
                          " and ", int{other[i]});
    }
  }
  return "";
}

}  // namespace edgekiln::simfarm::conformance::register_job
