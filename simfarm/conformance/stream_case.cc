#include "simfarm/conformance/stream_case.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace edgekiln::simfarm::conformance {
namespace {

std::string FirstDifferentByte(absl::string_view what, const std::string& a,
                               const std::string& b) {
  if (a.size() != b.size()) {
    return absl::StrCat(what, ": ", a.size(), " and ", b.size(), " bytes");
  }
  const auto at = std::mismatch(a.begin(), a.end(), b.begin());
  if (at.first == a.end()) return "";
  return absl::StrCat(what, " byte ", at.first - a.begin(), ": ",
                      static_cast<int>(*at.first), " and ",
                      static_cast<int>(*at.second));
}

std::string Differ(absl::string_view what, int64_t a, int64_t b) {
  return a == b ? "" : absl::StrCat(what, ": ", a, " and ", b);
}

std::string OwnedDifference(const StreamOutcome& a, const StreamOutcome& b) {
  if (a.owned == b.owned) return "";
  std::string text = "owned cycles:";
  for (const StreamOutcome* outcome : {&a, &b}) {
    for (const auto& [word, cycles] : outcome->owned) {
      absl::StrAppend(&text, " ", word, "=", cycles.compute, "+", cycles.stall);
    }
    absl::StrAppend(&text, " |");
  }
  return text;
}

}  // namespace

std::string FirstDifference(const StreamOutcome& a, const StreamOutcome& b) {
  if (a.error.empty() != b.error.empty()) {
    return absl::StrCat("refused by one: ", a.error, b.error);
  }
  if (!a.error.empty()) return "";
  for (const std::string& difference :
       {Differ("cycles", a.cycles, b.cycles),
        Differ("busy cycles", a.busy_cycles, b.busy_cycles),
        OwnedDifference(a, b), Differ("bytes read", a.bytes_read, b.bytes_read),
        Differ("bytes written", a.bytes_written, b.bytes_written),
        FirstDifferentByte("ram", a.ram, b.ram),
        FirstDifferentByte("scratchpad", a.scratchpad, b.scratchpad)}) {
    if (!difference.empty()) return difference;
  }
  return "";
}

}  // namespace edgekiln::simfarm::conformance
