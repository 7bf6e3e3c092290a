#include "server/daemon/jobs/job_rows.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "cache/disk_blob_store.h"
#include "google/protobuf/util/time_util.h"
#include "proto/convert.h"
#include "server/daemon/jobs/job_head.h"
#include "server/daemon/jobs/seal.h"

namespace edgekiln::server {
namespace {

constexpr int kMaxIdBytes = 128;

std::string Key(absl::string_view kind, absl::string_view id) {
  return absl::StrCat(kind, " ", id);
}

std::string Key(absl::string_view kind, absl::string_view id, int64_t number) {
  return absl::StrCat(kind, " ", number, " ", id);
}

template <typename Message>
std::optional<Message> Read(const std::string& key, absl::string_view column) {
  const std::optional<std::string> bytes = Unseal(key, column);
  Message message;
  if (!bytes.has_value() || !message.ParseFromString(*bytes)) {
    return std::nullopt;
  }
  return message;
}

std::string NameOf(const v1::Digest& digest) {
  return cache::BlobFileName({digest.hash(), digest.size_bytes()});
}

}  // namespace

std::string JobColumn(const v1::Job& job) {
  v1::Job stored = job;
  stored.clear_request();
  return Seal(Key("job", job.id()), stored.SerializeAsString());
}

std::string RequestColumn(const v1::Job& job) {
  return Seal(Key("request", job.id()), job.request().SerializeAsString());
}

std::string HeadColumn(const v1::Job& job) {
  v1::Job head = JobHead(job);
  head.clear_request();
  return Seal(Key("head", job.id()), head.SerializeAsString());
}

std::string RequestHeadColumn(const v1::Job& job) {
  return Seal(Key("request head", job.id()),
              RequestHead(job.request()).SerializeAsString());
}

std::string BlobsColumn(const v1::Job& job,
                        const std::vector<v1::Report>& reports) {
  std::vector<std::string> names;
  for (const v1::Artifact& artifact : job.artifacts()) {
    names.push_back(NameOf(artifact.digest()));
  }
  if (job.has_whole()) names.push_back(NameOf(job.whole()));
  for (const v1::Report& report : reports) {
    if (report.has_whole()) names.push_back(NameOf(report.whole()));
  }
  return Seal(Key("blobs", job.id()), absl::StrJoin(names, "\n"));
}

std::string EventColumn(absl::string_view id, const v1::JobEvent& event) {
  return Seal(Key("event", id, event.sequence()), event.SerializeAsString());
}

std::string ReportColumn(absl::string_view id, int64_t target,
                         absl::string_view report) {
  return Seal(Key("report", id, target), report);
}

std::optional<v1::Job> ReadJob(absl::string_view id, int64_t state,
                               absl::string_view column) {
  auto job = Read<v1::Job>(Key("job", id), column);
  if (job.has_value() && (job->state() != state || job->id() != id)) {
    return std::nullopt;
  }
  return job;
}

std::optional<v1::CreateJobRequest> ReadRequest(absl::string_view id,
                                                absl::string_view column) {
  return Read<v1::CreateJobRequest>(Key("request", id), column);
}

std::optional<v1::Job> ReadHead(absl::string_view id, int64_t state,
                                absl::string_view head,
                                absl::string_view request) {
  auto job = Read<v1::Job>(Key("head", id), head);
  if (!job.has_value() || job->state() != state) return std::nullopt;
  auto asked = Read<v1::CreateJobRequest>(Key("request head", id), request);
  if (!asked.has_value()) return std::nullopt;
  *job->mutable_request() = *std::move(asked);
  return job;
}

std::optional<std::vector<std::string>> ReadBlobs(absl::string_view id,
                                                  absl::string_view column) {
  const std::optional<std::string> names = Unseal(Key("blobs", id), column);
  if (!names.has_value()) return std::nullopt;
  return std::vector<std::string>(
      absl::StrSplit(*names, '\n', absl::SkipEmpty()));
}

v1::JobEvent ReadEvent(absl::string_view id, int64_t sequence,
                       absl::string_view column) {
  auto event = Read<v1::JobEvent>(Key("event", id, sequence), column);
  if (event.has_value()) return *std::move(event);
  v1::JobEvent damaged;
  damaged.set_sequence(sequence);
  return damaged;
}

std::optional<std::string> ReadReport(absl::string_view id, int64_t target,
                                      absl::string_view column) {
  return Unseal(Key("report", id, target), column);
}

v1::Job DamagedJob(absl::string_view id) {
  v1::Job job;
  // It may be what is damaged.
  job.set_id(SanitizeText(std::string(id), kMaxIdBytes));
  job.set_state(v1::FAILED);
  *job.mutable_error() = ErrorToProto(
      MakeError(absl::StatusCode::kDataLoss,
                {.fault = Fault::kInfra,
                 .reason = kJobDamaged,
                 .what = "what the daemon had stored of this job is damaged",
                 .where = absl::StrCat("job ", id),
                 .fix = "create the job again; what is cached is not computed "
                        "again. Check the disk of the state folder"}));
  return job;
}

absl::Status ReportDamaged(absl::string_view id, int64_t target) {
  return MakeError(absl::StatusCode::kDataLoss,
                   {.fault = Fault::kInfra,
                    .reason = "REPORT_DAMAGED",
                    .what = "the stored report is damaged",
                    .where = absl::StrCat("job ", id, ", target ", target),
                    .fix = "create the job again; what is cached is not "
                           "computed again. Check the disk of the state "
                           "folder"});
}

google::protobuf::Timestamp ToTimestamp(absl::Time time) {
  return google::protobuf::util::TimeUtil::MicrosecondsToTimestamp(
      absl::ToUnixMicros(time));
}

}  // namespace edgekiln::server
