#include "server/sweep/model_name.h"

#include "absl/strings/string_view.h"

namespace edgekiln::server {

std::string SweepModelName(const v1::SweepModel& model) {
  if (!model.name().empty()) return model.name();
  absl::string_view name = model.file();
  if (const size_t slash = name.rfind('/'); slash != absl::string_view::npos) {
    name.remove_prefix(slash + 1);
  }
  const size_t dot = name.rfind('.');
  if (dot != absl::string_view::npos && dot > 0) name = name.substr(0, dot);
  return std::string(name);
}

}  // namespace edgekiln::server
