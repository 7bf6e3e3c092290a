#include "tests/chaos/honest_job.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "client/connection.h"
#include "client/local_blob.h"
#include "client/watch.h"
#include "google/protobuf/util/message_differencer.h"
#include "tests/chaos/verify.h"

namespace edgekiln::chaos {
namespace {

// Chips that everybody has; the others are a client's own.
constexpr int kCommonChips = 4;
constexpr int kClientChips = 64;           // Of one client, at most.
constexpr int64_t kUploadBytes = 400'000;  // Streamed, not batched.
constexpr int64_t kLongestPauseMs = 3000;
constexpr absl::Duration kComeAgain = absl::Milliseconds(500);

using Kind = HonestJob::Kind;

// Whether the service would rather be asked later.
bool IsFull(const absl::Status& status) {
  if (absl::IsUnavailable(status) || absl::IsCancelled(status) ||
      absl::IsAborted(status)) {
    return true;
  }
  const auto detail = GetErrorDetail(status);
  return absl::IsResourceExhausted(status) && detail.has_value() &&
         detail->fault == Fault::kQuota;
}

class UntilOver final : public client::WatchSink {
 public:
  UntilOver(absl::Time deadline, HonestEffort& effort)
      : deadline_(deadline), effort_(effort), stages_(absl::Now()) {}
  void OnEvent(const v1::JobEvent& event) override {
    stages_.OnEvent(event);
    if (!event.has_stage_started()) return;
    const v1::JobEvent::StageStarted& stage = event.stage_started();
    if (!started_.emplace(stage.name(), stage.target()).second) {
      ++effort_.restarts;
    }
  }
  void OnReconnecting(bool) override {}
  absl::Status OnTick() override {
    return absl::Now() < deadline_ ? absl::OkStatus()
                                   : absl::DeadlineExceededError("too late");
  }
  const StageTimes& stages() const { return stages_; }

 private:
  const absl::Time deadline_;
  HonestEffort& effort_;
  std::set<std::pair<std::string, int>> started_;
  StageTimes stages_;
};

// Since `since`, which becomes the present moment.
absl::Duration Lap(absl::Time& since) {
  const absl::Time now = absl::Now();
  return now - std::exchange(since, now);
}

absl::StatusOr<HonestAnswer> Upload(const HonestJob& job,
                                    const std::string& folder,
                                    FileSystem& files,
                                    client::Connection& connection) {
  Rng rng(job.content);
  const std::string bytes = RandomBytes(kUploadBytes, rng);
  const std::string path = JoinPath(folder, "upload");
  EK_RETURN_IF_ERROR(WriteAtomically(files, path, bytes));
  EK_ASSIGN_OR_RETURN(const client::LocalBlob blob,
                      client::OpenLocalBlob(files, path, "file"));
  EK_RETURN_IF_ERROR(connection.Upload({blob}, nullptr), "upload");
  std::string back;
  EK_RETURN_IF_ERROR(connection.Download(blob.digest,
                                         [&](absl::string_view piece) {
                                           back.append(piece.data(),
                                                       piece.size());
                                           return absl::OkStatus();
                                         }),
                     "download");
  if (back != bytes) return absl::DataLossError("other bytes came back");
  return HonestAnswer();
}

absl::StatusOr<v1::CreateJobRequest> RequestOf(const HonestJob& job,
                                               const std::string& folder,
                                               const std::string& request_id,
                                               FileSystem& files,
                                               client::Connection& connection) {
  const std::string chip = JoinPath(folder, "chip.txtpb");
  EK_RETURN_IF_ERROR(WriteChip(files, job.chip, chip));
  EK_ASSIGN_OR_RETURN(v1::CreateJobRequest request,
                      Prepare(job.work, chip, request_id, files, connection));
  if (job.kind == Kind::kValidate) return request;
  request.clear_goals();
  request.clear_data();
  if (job.kind == Kind::kProfile) {
    request.add_goals(v1::PROFILE);
    return request;
  }
  request.add_goals(v1::INSPECT);
  request.clear_calibration();
  request.clear_targets();
  request.clear_options();
  return request;
}

absl::StatusOr<HonestAnswer> DoJobOnce(const HonestJob& job,
                                       const HonestService& service,
                                       const std::string& request_id,
                                       absl::Time deadline,
                                       HonestEffort& effort, FileSystem& files,
                                       Clock& clock) {
  HonestTimes& times = effort.times = HonestTimes();
  absl::Time since = absl::Now();
  client::ConnectionOptions options;
  options.grpc_target = service.address;
  options.shown = service.address;
  options.deadline = deadline;
  const auto connection =
      client::NewConnection(std::move(options), files, clock);
  if (job.kind == Kind::kUpload) {
    absl::StatusOr<HonestAnswer> answer =
        Upload(job, service.folder, files, *connection);
    times.prepare = Lap(since);
    return answer;
  }
  EK_ASSIGN_OR_RETURN(
      const v1::CreateJobRequest request,
      RequestOf(job, service.folder, request_id, files, *connection));
  times.prepare = Lap(since);
  EK_ASSIGN_OR_RETURN(v1::Job created, connection->CreateJob(request));
  times.create = Lap(since);
  UntilOver sink(deadline, effort);
  const absl::Status watched = connection->Watch(created.id(), 0, sink);
  since = absl::Now();
  sink.stages().Get(since, times);
  if (absl::IsDeadlineExceeded(watched)) {
    connection->CancelJob(created.id()).IgnoreError();
  }
  EK_RETURN_IF_ERROR(watched, "watching");
  EK_ASSIGN_OR_RETURN(const v1::Job over, connection->GetJob(created.id()));
  if (over.state() != v1::SUCCEEDED) {
    return absl::InternalError(absl::StrCat(
        "job ", created.id(), " (", job.work.name, ") ",
        v1::JobState_Name(over.state()), ": ", over.error().message()));
  }
  HonestAnswer answer;
  if (job.kind == Kind::kInspect) {
    answer.description = over.description();
  } else {
    EK_ASSIGN_OR_RETURN(answer.report, connection->GetReport(created.id(), 0));
  }
  times.fetch = Lap(since);
  return answer;
}

}  // namespace

std::vector<Work> HonestWork(const std::string& source,
                             const std::string& shared) {
  std::vector<Work> all = AllWork(source, shared);
  if (!shared.empty()) {
    all.push_back({.name = "resnet8_int8",
                   .model = shared + "/models/resnet8_int8.tflite",
                   .data = shared + "/data/cifar10_ic_100.npz",
                   .calibration = "",
                   .limit = 0});
  }
  // What a user tries while changing a network, not what a release is tested
  // with.
  for (Work& work : all) work.limit = work.name == "resnet8_int8" ? 2 : 8;
  return all;
}

std::string KindName(HonestJob::Kind kind) {
  switch (kind) {
    case Kind::kInspect:
      return "inspect";
    case Kind::kProfile:
      return "profile";
    case Kind::kValidate:
      return "validate";
    case Kind::kUpload:
      return "upload";
  }
  return "";
}

HonestJob NextJob(const std::vector<Work>& work, int client, int number,
                  Rng& rng) {
  HonestJob job;
  const uint64_t kind = rng.Below(10);
  job.kind = kind < 2   ? Kind::kInspect
             : kind < 6 ? Kind::kProfile
             : kind < 9 ? Kind::kValidate
                        : Kind::kUpload;
  job.work = work[rng.Below(work.size())];
  const bool common = rng.Below(2) == 0;
  job.chip = common
                 ? static_cast<int>(rng.Below(kCommonChips))
                 : kCommonChips + client * kClientChips + number % kClientChips;
  job.content = rng.Next();
  job.pause = absl::Milliseconds(rng.InRange(0, kLongestPauseMs));
  return job;
}

absl::StatusOr<HonestAnswer> DoJob(const HonestJob& job,
                                   const HonestService& service,
                                   const std::string& request_id,
                                   absl::Time deadline, HonestEffort& effort,
                                   FileSystem& files, Clock& clock) {
  while (true) {
    absl::StatusOr<HonestAnswer> answer =
        DoJobOnce(job, service, request_id, deadline, effort, files, clock);
    if (answer.ok()) return answer;
    if (absl::Now() + kComeAgain > deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat("too late: ", answer.status().message()));
    }
    if (!IsFull(answer.status())) return answer;
    ++effort.refusals;
    absl::SleepFor(kComeAgain);
  }
}

absl::Status SameAnswer(const HonestAnswer& expected,
                        const HonestAnswer& actual) {
  EK_RETURN_IF_ERROR(SameReport(expected.report, actual.report));
  google::protobuf::util::MessageDifferencer differencer;
  std::string differences;
  differencer.ReportDifferencesToString(&differences);
  if (differencer.Compare(expected.description, actual.description)) {
    return absl::OkStatus();
  }
  return absl::DataLossError(
      absl::StrCat("the descriptions differ: ", differences.substr(0, 2000)));
}

}  // namespace edgekiln::chaos
