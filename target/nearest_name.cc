#include "target/nearest_name.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace edgekiln::target {
namespace {

int EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

constexpr size_t kLooked = 64;

int Distance(absl::string_view a, absl::string_view b) {
  return EditDistance(a.substr(0, kLooked), b.substr(0, kLooked));
}

}  // namespace

std::string NearestName(absl::string_view name,
                        const std::vector<std::string>& candidates) {
  std::string best;
  int best_distance = 0;
  for (const std::string& candidate : candidates) {
    const int distance = Distance(name, candidate);
    if (best.empty() || distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string DidYouMean(absl::string_view name,
                       const std::vector<std::string>& candidates,
                       absl::string_view otherwise) {
  const std::string nearest = NearestName(name, candidates);
  const int letters = static_cast<int>(
      std::min(std::max(name.size(), nearest.size()), kLooked));
  const bool near =
      !nearest.empty() && Distance(name, nearest) <= std::max(1, letters / 3);
  return near ? absl::StrCat("did you mean \"", nearest, "\"?")
              : std::string(otherwise);
}

}  // namespace edgekiln::target
