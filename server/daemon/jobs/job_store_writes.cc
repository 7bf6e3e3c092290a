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

bool IsAnswer(const v1::Report& report) {
  return static_cast<int64_t>(report.ByteSizeLong()) <= kMaxAnswerBytes;
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

absl::StatusOr<JobStore::Row> JobStore::Prepare(const JobUpdate& update) {
  Row row;
  row.update = &update;
  std::vector<v1::Report> fitted;
  if (blobs_ != nullptr &&
      !std::all_of(update.reports.begin(), update.reports.end(), IsAnswer)) {
    fitted = update.reports;
    for (v1::Report& report : fitted) {
      // What cannot be stored is told in it: it must not hold up the others.
      FitAnswer(report, *blobs_).IgnoreError();
    }
  }
  const std::vector<v1::Report>& reports =
      fitted.empty() ? update.reports : fitted;
  for (size_t target = 0; target < reports.size(); ++target) {
    std::string bytes = reports[target].SerializeAsString();
    row.reports.push_back(
        ReportColumn(update.job_id, static_cast<int64_t>(target), bytes));
    row.whole_reports.push_back(std::move(bytes));
  }
  std::vector<v1::JobEvent> events = update.events;
  for (v1::JobEvent& event : events) {
    FitEvent(event);
    row.events.push_back(EventColumn(update.job_id, event));
  }
  if (!update.has_job) return row;
  v1::Job job = update.job;
  if (update.is_new) {
    row.request = RequestColumn(job);
    row.request_head = RequestHeadColumn(job);
  }
  // What it names stays, also where the job names it in a blob.
  row.blobs = BlobsColumn(job, reports);
  if (blobs_ != nullptr && job.state() >= v1::SUCCEEDED) {
    v1::CreateJobRequest request;
    request.Swap(job.mutable_request());
    if (static_cast<int64_t>(job.ByteSizeLong()) > kMaxJobBytes) {
      if (!update.is_new) {
        // One that is damaged is missing in the blob.
        absl::StatusOr<v1::CreateJobRequest> stored = GetRequest(update.job_id);
        if (stored.ok()) request = *std::move(stored);
      }
      v1::Job all = job;
      all.mutable_request()->Swap(&request);
      if (!update.events.empty()) {
        all.set_last_sequence(update.events.back().sequence());
      }
      if (FitFinished(job, all, *blobs_).ok()) {
        *all.mutable_whole() = job.whole();
        row.blobs = BlobsColumn(all, reports);
      }
    }
  }
  row.job = JobColumn(job);
  row.head = HeadColumn(job);
  if (update.is_new && job.state() >= v1::SUCCEEDED && !events.empty()) {
    *job.mutable_request() = update.job.request();
    job.set_last_sequence(events.back().sequence());
    row.whole_job = job.SerializeAsString();
    row.all_events =
        std::make_shared<const std::vector<v1::JobEvent>>(std::move(events));
  }
  return row;
}

void JobStore::Keep(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    const std::string& id = row.update->job_id;
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
    EK_ASSIGN_OR_RETURN(
        Statement insert,
        writer_->Prepare("INSERT INTO events (job_id, sequence, event)"
                         " VALUES (?, ?, ?)"));
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

absl::Status JobStore::Apply(const std::vector<JobUpdate>& updates) {
  std::vector<Row> rows;
  for (const JobUpdate& update : updates) {
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
