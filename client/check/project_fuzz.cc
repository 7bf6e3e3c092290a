// Any bytes as a project file give a project or an error with a place.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/string_view.h"
#include "base/error.h"
#include "client/check/project.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = edgekiln::client::ParseProject(text, "p");
  if (!file.ok()) {
    if (!edgekiln::GetErrorDetail(file.status()).has_value()) std::abort();
    return 0;
  }
  const edgekiln::v1::Project& project = file->project();
  if (edgekiln::client::SweepOfProject(project).groups_size() !=
      project.groups_size()) {
    std::abort();
  }
  for (int group = 0; group < project.groups_size(); ++group) {
    (void)file->GatePlace(group, "cycles");
    (void)file->GatePlace(group, "memory.flash");
    (void)file->ModelPlace(group, project.groups(group).models(0).name());
    (void)file->RegressionPlace(group, "max_cycles_growth");
  }
  return 0;
}
