#include "server/daemon/http/route.h"

#include <cstddef>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace edgekiln::server {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

constexpr Route kRoutes[] = {
    {"GET", "/v1/jobs", "edgekiln.v1.Jobs.ListJobs"},
    {"POST", "/v1/jobs", "edgekiln.v1.Jobs.CreateJob"},
    {"GET", "/v1/jobs/{id}", "edgekiln.v1.Jobs.GetJob"},
    {"POST", "/v1/jobs/{id}:cancel", "edgekiln.v1.Jobs.CancelJob"},
    {"GET", "/v1/jobs/{id}/events", "edgekiln.v1.Jobs.WatchJob"},
    {"GET", "/v1/jobs/{job_id}/reports/{target}",
     "edgekiln.v1.Reports.GetReport"},
    {"GET", "/v1/jobs/{job_id}/reports/{target}/{format}",
     "edgekiln.v1.Reports.RenderReport"},
    {"GET", "/v1/daemon", "edgekiln.v1.Daemon.GetStatus"},
    {"POST", "/v1/sweeps:plan", "edgekiln.v1.Jobs.PlanSweep"},
    {"GET", "/v1/quarantine", "edgekiln.v1.Jobs.ListQuarantine"},
    {"POST", "/v1/quarantine/{id}:release",
     "edgekiln.v1.Jobs.ReleaseQuarantine"},
    {"POST", "/v1/models:inspect", "edgekiln.v1.Models.InspectModel"},
    {"GET", "/v1/targets", "edgekiln.v1.Targets.ListTargets"},
    {"GET", "/v1/targets/{name}", "edgekiln.v1.Targets.GetTarget"},
    {"POST", "/v1/targets:validate", "edgekiln.v1.Targets.ValidateTarget"},
    {"POST", "/v1/blobs:find_missing",
     "build.bazel.remote.execution.v2.ContentAddressableStorage."
     "FindMissingBlobs"},
    {"POST", "/v1/blobs:update",
     "build.bazel.remote.execution.v2.ContentAddressableStorage."
     "BatchUpdateBlobs"},
    {"POST", "/v1/blobs:read",
     "build.bazel.remote.execution.v2.ContentAddressableStorage."
     "BatchReadBlobs"},
};

// The fields of `path` where it has the form of `pattern`.
std::optional<Fields> FieldsOf(absl::string_view pattern,
                               absl::string_view path) {
  const std::vector<absl::string_view> wanted = absl::StrSplit(pattern, '/');
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  if (wanted.size() != parts.size()) return std::nullopt;
  Fields fields;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!absl::StartsWith(wanted[i], "{")) {
      if (wanted[i] != parts[i]) return std::nullopt;
      continue;
    }
    const size_t end = wanted[i].find('}');
    const absl::string_view tail = wanted[i].substr(end + 1);  // ":cancel"
    absl::string_view value = parts[i];
    if (!absl::EndsWith(value, tail)) return std::nullopt;
    value.remove_suffix(tail.size());
    if (value.empty()) return std::nullopt;
    fields.emplace_back(wanted[i].substr(1, end - 1), value);
  }
  return fields;
}

}  // namespace

absl::Span<const Route> Routes() { return kRoutes; }

RouteMatch FindRoute(absl::string_view verb, absl::string_view path) {
  if (verb == "HEAD") verb = "GET";
  RouteMatch match;
  for (const Route& route : kRoutes) {
    std::optional<Fields> fields = FieldsOf(route.path, path);
    if (!fields.has_value()) continue;
    if (route.verb == verb) return {&route, *std::move(fields), {}};
    match.verbs.push_back(route.verb);
  }
  return match;
}

}  // namespace edgekiln::server
