#ifndef EK_CLIENT_TESTING_FAKE_CONNECTION_H_
#define EK_CLIENT_TESTING_FAKE_CONNECTION_H_

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/connection.h"

namespace edgekiln::client {

// A scripted daemon: answers what a test has set, keeps what it was asked.
class FakeConnection final : public Connection {
 public:
  absl::StatusOr<v1::Job> CreateJob(
      const v1::CreateJobRequest& request) override {
    created = request;
    if (!create_error.ok()) return create_error;
    *job.mutable_request() = request;
    return job;
  }
  absl::StatusOr<v1::Job> GetJob(const std::string& id) override {
    if (jobs.empty()) return job;
    for (const v1::Job& known : jobs) {
      if (known.id() == id) return known;
    }
    return absl::NotFoundError("no such job");
  }
  absl::StatusOr<v1::ListJobsResponse> ListJobs(
      const v1::ListJobsRequest& request) override {
    listed.push_back(request);
    v1::ListJobsResponse page;
    if (!jobs.empty() || no_jobs) {
      size_t at =
          request.page_token().empty() ? 0 : std::stoul(request.page_token());
      for (int i = 0; i < request.page_size() && at < jobs.size(); ++i) {
        *page.add_jobs() = jobs[at++];
      }
      if (at < jobs.size()) page.set_next_page_token(absl::StrCat(at));
      return page;
    }
    for (int i = 0; i < std::min(request.page_size(), 2); ++i) {
      v1::Job* entry = page.add_jobs();
      *entry = job;
      entry->set_id(absl::StrCat(listed.size(), "-", i));
    }
    page.set_next_page_token(listed.size() < 3 ? "more" : "");
    return page;
  }
  absl::StatusOr<v1::Job> CancelJob(const std::string& id) override {
    cancelled.push_back(id);
    return job;
  }
  absl::StatusOr<v1::SweepPlanned> PlanSweep(
      const v1::SweepRequest& sweep) override {
    planned_sweep = sweep;
    return planned;
  }
  absl::StatusOr<v1::ListQuarantineResponse> ListQuarantine(
      const v1::ListQuarantineRequest&) override {
    return quarantine;
  }
  absl::StatusOr<v1::QuarantinedStage> ReleaseQuarantine(
      const std::string& id) override {
    released.push_back(id);
    if (quarantine.stages().empty()) return absl::NotFoundError("no such");
    return quarantine.stages(0);
  }
  absl::StatusOr<v1::DaemonStatus> GetStatus() override { return status; }
  absl::StatusOr<v1::Report> GetReport(const std::string&,
                                       int target) override {
    ++reports_asked;
    if (target >= static_cast<int>(reports.size())) {
      return absl::NotFoundError("no report");
    }
    return reports[target];
  }
  absl::StatusOr<v1::ModelDescription> InspectModel(
      const v1::InspectModelRequest& request) override {
    inspected = request;
    v1::ModelDescription model;
    model.set_name("described");
    model.set_recipe(described_recipe);
    return model;
  }
  absl::StatusOr<v1::ListTargetsResponse> ListTargets() override {
    v1::ListTargetsResponse response;
    for (const std::string& name : target_names) {
      *response.add_targets() = *GetTarget(name, "");
    }
    return response;
  }
  absl::StatusOr<v1::TargetInfo> GetTarget(const std::string& name,
                                           const std::string& recipe) override {
    asked_recipe = recipe;
    v1::TargetInfo info;
    info.set_name(name);
    info.set_doc("A chip.\nMore.");
    info.set_text("name: \"dla\"\n");
    info.mutable_digest()->set_hash("hash-of-" + name);
    if (name == without_recipes) return info;
    for (const v1::RecipeInfo& known : recipes) *info.add_recipes() = known;
    return info;
  }
  absl::StatusOr<v1::ValidateTargetResponse> ValidateTarget(
      const Digest&) override {
    return validation;
  }
  absl::Status Upload(const std::vector<LocalBlob>& blobs,
                      const TransferProgress& progress) override {
    for (const TransferState& state : transfer) progress(state);
    for (const LocalBlob& blob : blobs) uploaded.push_back(blob.path);
    return absl::OkStatus();
  }
  absl::Status Download(
      const Digest& digest,
      const std::function<absl::Status(absl::string_view)>& sink) override {
    const auto blob = blobs.find(digest.hash);
    if (blob == blobs.end()) return absl::NotFoundError("no blob");
    return sink(blob->second);
  }
  absl::Status Watch(const std::string&, int64_t, WatchSink& sink) override {
    for (const v1::JobEvent& event : events) sink.OnEvent(event);
    if (on_watch) on_watch();
    return sink.OnTick();
  }

  v1::Artifact& AddArtifact(const std::string& path, int target,
                            const std::string& bytes) {
    v1::Artifact& artifact = *job.add_artifacts();
    artifact.set_path(path);
    artifact.set_target(target);
    artifact.mutable_digest()->set_hash("h" + bytes);
    artifact.mutable_digest()->set_size_bytes(bytes.size());
    blobs["h" + bytes] = bytes;
    return artifact;
  }

  void AddJob(const std::string& id, v1::JobState state) {
    v1::Job& added = jobs.emplace_back();
    added.set_id(id);
    added.set_state(state);
  }

  v1::Job job;                // Every job, unless `jobs` holds some.
  std::vector<v1::Job> jobs;  // Newest first.
  bool no_jobs = false;
  std::vector<v1::Report> reports;
  int reports_asked = 0;
  std::vector<v1::JobEvent> events;
  std::vector<TransferState> transfer;  // Of each upload.
  std::function<void()> on_watch;
  absl::Status create_error;
  v1::ValidateTargetResponse validation;
  std::map<std::string, std::string> blobs;
  v1::ListQuarantineResponse quarantine;
  v1::DaemonStatus status;
  v1::SweepPlanned planned;
  v1::SweepRequest planned_sweep;  // By the last PlanSweep().

  std::vector<std::string> target_names = {"dla-64"};  // Of ListTargets().
  std::string without_recipes;                         // A target's name.
  std::vector<v1::RecipeInfo> recipes;  // Of every target; none: an old daemon.
  std::string asked_recipe;             // By the last GetTarget().
  std::string described_recipe;
  v1::CreateJobRequest created;
  v1::InspectModelRequest inspected;
  std::vector<std::string> uploaded;
  std::vector<std::string> cancelled;
  std::vector<std::string> released;
  std::vector<v1::ListJobsRequest> listed;
};

}  // namespace edgekiln::client

#endif  // EK_CLIENT_TESTING_FAKE_CONNECTION_H_
