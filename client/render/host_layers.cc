#include "client/render/host_layers.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "reports/headline.h"
#include "reports/text/text.h"

namespace edgekiln::client {
namespace {

constexpr int kMaxNameWidth = 48;

}  // namespace

void HostLayers::Add(absl::string_view id, absl::string_view reason) {
  const std::string common = CleanText(CommonReason(reason));
  auto group = std::find_if(groups_.begin(), groups_.end(),
                            [&](const auto& g) { return g.first == common; });
  if (group == groups_.end()) {
    groups_.push_back({common, {}});
    group = groups_.end() - 1;
  }
  group->second.push_back(ClipMiddle(CleanText(id), kMaxNameWidth));
}

std::vector<std::string> HostLayers::Lines() const {
  std::vector<std::string> lines;
  for (const auto& [reason, ids] : groups_) {
    // All of them are in the table above.
    constexpr size_t kMostIds = 6;
    const size_t shown = ids.size() > kMostIds ? kMostIds - 1 : ids.size();
    std::string text = absl::StrJoin(ids.begin(), ids.begin() + shown, ", ");
    if (shown < ids.size()) {
      absl::StrAppend(&text, " and ", ids.size() - shown, " more");
    }
    lines.push_back(absl::StrCat(text, ": ", reason));
  }
  return lines;
}

}  // namespace edgekiln::client
