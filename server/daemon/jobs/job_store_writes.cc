// What the job store writes of a change: columns of its tables, and the answers
// that are asked for next.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/daemon/jobs/job_rows.h"
#include "server/daemon/jobs/job_store.h"
#include "server/daemon/jobs/whole_answer.h"

namespace edgekiln::server {
namespace {

// Size of a message in memory, as a multiple of its serialized size.
constexpr size_t kSpread = 4;

// Stages buffer what they make; what a job promises is durable before its end.
// Only a disk that may work again is waited for: one bad file must not hold up
// all jobs, and whoever asks for it is told that it is missing.
absl::Status SyncArtifacts(const v1::Job& job, cache::BlobStore& blobs) {
  for (const v1::Artifact& artifact : job.artifacts()) {
    absl::Status synced =
        blobs.Sync({artifact.digest().hash(), artifact.digest().size_bytes()});
    if (absl::IsResourceExhausted(synced) || absl::IsUnavailable(synced)) {
      return synced;
    }
  }
  return absl::OkStatus();
}

}  // namespace

// An update as columns.
struct JobStore::Row {
  const JobUpdate* update = nullptr;
  std::string job;
  std::string request;
  std::string head;
  std::string request_head;
  std::string blobs;
  std::vector<std::string> events;
  std::vector<std::string> reports;
  // What Get(), Events() and GetReport() will read of it. Of a job that is
  // over; the former two only if it is new.
  std::string whole_job;
  std::shared_ptr<const std::vector<v1::JobEvent>> all_events;
  std::vector<std::string> whole_reports;
};

absl::Status JobStore::Fit(JobUpdate& update) {
  if (blobs_ == nullptr || update.blobs.has_value() || !update.has_job) {
    return absl::OkStatus();
  }
  EK_RETURN_IF_ERROR(SyncArtifacts(update.job, *blobs_));
  for (v1::Report& report : update.reports) {
    FitAnswer(report, *blobs_).IgnoreError();
  }
  v1::Job& job = update.job;
  // What it names stays, also where the job names it in a blob.
  v1::Job named;
  named.set_id(update.job_id);
  *named.mutable_artifacts() = job.artifacts();
  if (update.has_job && job.state() >= v1::SUCCEEDED) {
    v1::CreateJobRequest request;
    request.Swap(job.mutable_request());
    const bool fits = static_cast<int64_t>(job.ByteSizeLong()) <= kMaxJobBytes;
    if (!fits && !update.is_new) {
      // One that is damaged is missing in the blob.
      absl::StatusOr<v1::CreateJobRequest> stored = GetRequest(update.job_id);
      if (stored.ok()) request = *std::move(stored);
    }
    request.Swap(job.mutable_request());
    if (!fits) {
      if (!update.events.empty()) {
        job.set_last_sequence(update.events.back().sequence());
      }
      FitFinished(job, *blobs_).IgnoreError();
    }
  }
  if (job.has_whole()) *named.mutable_whole() = job.whole();
  update.blobs = BlobsColumn(named, update.reports);
  return absl::OkStatus();
}

absl::StatusOr<JobStore::Row> JobStore::Prepare(JobUpdate& update) {
  EK_RETURN_IF_ERROR(Fit(update));
  Row row;
  row.update = &update;
  for (size_t target = 0; target < update.reports.size(); ++target) {
    std::string bytes = update.reports[target].SerializeAsString();
    row.reports.push_back(
        ReportColumn(update.job_id, static_cast<int64_t>(target), bytes));
    row.whole_reports.push_back(std::move(bytes));
  }
  for (v1::JobEvent& event : update.events) {
    FitEvent(event);
    row.events.push_back(EventColumn(update.job_id, event));
  }
  if (!update.has_job) return row;
  v1::Job& job = update.job;
  if (update.is_new) {
    row.request = RequestColumn(job);
    row.request_head = RequestHeadColumn(job);
  }
  row.blobs = update.blobs.has_value() ? *update.blobs
                                       : BlobsColumn(job, update.reports);
  row.job = JobColumn(job);
  row.head = HeadColumn(job);
  if (update.is_new && job.state() >= v1::SUCCEEDED && !update.events.empty()) {
    job.set_last_sequence(update.events.back().sequence());
    row.whole_job = job.SerializeAsString();
    row.all_events =
        std::make_shared<const std::vector<v1::JobEvent>>(update.events);
  }
  return row;
}

void JobStore::Keep(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    const std::string& id = row.update->job_id;
    recent_.Add(id, row.update->events);
    for (size_t target = 0; target < row.whole_reports.size(); ++target) {
      const std::string key = ReportKey(id, static_cast<int>(target));
      answers_.Forget(key);
      answers_.Keep(key, row.whole_reports[target]);
    }
    if (row.all_events == nullptr) continue;
    answers_.Keep(JobKey(id), row.whole_job);
    size_t bytes = 0;
    for (const std::string& event : row.events) {
      bytes += sizeof(v1::JobEvent) + kSpread * event.size();
    }
    events_.Keep(id, row.all_events, static_cast<int64_t>(bytes));
  }
}

absl::Status JobStore::InsertJob(const Row& row) {
  const JobUpdate& update = *row.update;
  EK_ASSIGN_OR_RETURN(
      Statement insert,
      writer_->Prepare("INSERT INTO jobs (id, request_id, state, job)"
                       " VALUES (?, ?, ?, ?)"));
  insert.Bind(1, update.job_id);
  insert.Bind(2, update.job.request().request_id());
  insert.Bind(3, update.job.state());
  insert.Bind(4, row.job);
  EK_RETURN_IF_ERROR(insert.Run());
  // In a damaged database, what belonged to a row that is gone may be left.
  EK_ASSIGN_OR_RETURN(
      Statement head,
      writer_->Prepare(
          "INSERT OR REPLACE INTO heads (row, head, request, blobs)"
          " SELECT row, ?, ?, ? FROM jobs WHERE id = ?"));
  head.Bind(1, row.head);
  head.Bind(2, row.request_head);
  head.Bind(3, row.blobs);
  head.Bind(4, update.job_id);
  EK_RETURN_IF_ERROR(head.Run());
  EK_ASSIGN_OR_RETURN(
      Statement request,
      writer_->Prepare("INSERT OR REPLACE INTO requests (row, request)"
                       " SELECT row, ? FROM jobs"
                       " WHERE id = ?"));
  request.Bind(1, row.request);
  request.Bind(2, update.job_id);
  return request.Run();
}

absl::Status JobStore::UpdateJob(const Row& row) {
  EK_ASSIGN_OR_RETURN(
      Statement job,
      writer_->Prepare("UPDATE jobs SET state = ?, job = ? WHERE id = ?"));
  job.Bind(1, row.update->job.state());
  job.Bind(2, row.job);
  job.Bind(3, row.update->job_id);
  EK_RETURN_IF_ERROR(job.Run());
  EK_ASSIGN_OR_RETURN(
      Statement head,
      writer_->Prepare("UPDATE heads SET head = ?, blobs = ? WHERE row ="
                       " (SELECT row FROM jobs WHERE id = ?)"));
  head.Bind(1, row.head);
  head.Bind(2, row.blobs);
  head.Bind(3, row.update->job_id);
  return head.Run();
}

absl::Status JobStore::Write(const Row& row) {
  const JobUpdate& update = *row.update;
  if (update.has_job) {
    EK_RETURN_IF_ERROR(update.is_new ? InsertJob(row) : UpdateJob(row));
  }
  for (size_t i = 0; i < row.events.size(); ++i) {
    // A row that cannot be written would hold up those of all jobs, as where
    // damage made the last of these rows seem that of a former event.
    EK_ASSIGN_OR_RETURN(
        Statement insert,
        writer_->Prepare("INSERT OR REPLACE INTO events"
                         " (job_id, sequence, event) VALUES (?, ?, ?)"));
    insert.Bind(1, update.job_id);
    insert.Bind(2, update.events[i].sequence());
    insert.Bind(3, row.events[i]);
    EK_RETURN_IF_ERROR(insert.Run());
  }
  for (size_t target = 0; target < row.reports.size(); ++target) {
    EK_ASSIGN_OR_RETURN(
        Statement insert,
        writer_->Prepare("INSERT OR REPLACE INTO reports"
                         " (job_id, target, report) VALUES (?, ?, ?)"));
    insert.Bind(1, update.job_id);
    insert.Bind(2, static_cast<int64_t>(target));
    insert.Bind(3, row.reports[target]);
    EK_RETURN_IF_ERROR(insert.Run());
  }
  return absl::OkStatus();
}

absl::Status JobStore::Apply(std::vector<JobUpdate>& updates) {
  std::vector<Row> rows;
  for (JobUpdate& update : updates) {
    EK_ASSIGN_OR_RETURN(Row row, Prepare(update),
                        absl::StrCat("job ", update.job_id));
    rows.push_back(std::move(row));
  }
  EK_RETURN_IF_ERROR(CheckFiles());
  MutexLock lock(write_mutex_);
  EK_RETURN_IF_ERROR(Noted(InTransaction(
      *writer_, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_) {
        for (const Row& row : rows) {
          EK_RETURN_IF_ERROR(Write(row),
                             absl::StrCat("job ", row.update->job_id));
        }
        return absl::OkStatus();
      })));
  // Removed meanwhile: nobody will find it.
  EK_RETURN_IF_ERROR(watch_.Check());
  Keep(rows);
  return absl::OkStatus();
}

}  // namespace edgekiln::server
