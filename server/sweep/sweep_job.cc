#include "server/sweep/sweep_job.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/status_macros.h"
#include "proto/convert.h"
#include "server/import_call.h"
#include "server/later.h"
#include "server/sweep/cells.h"
#include "server/sweep/model_name.h"
#include "server/sweep/plan_stage.h"
#include "server/sweep/sweep_mail.h"

// Rows are told in an order that depends on nothing but which cells are over:
// one is held back until all cells before it of the same model are, so that
// what it says of equal programs is the same whoever was faster. What was told
// is durable. What was not is asked for again after a crash, by request id: a
// cell that was over by then is not computed again.

namespace edgekiln::server {
namespace {

// Rings of the bell, a few each second, between attempts to create a cell that
// was refused for lack of room.
constexpr int kRingsBetweenAttempts = 5;
// Between the events that tell how many cells are over.
constexpr int kCellsPerProgress = 16;
// Targets that are resolved together, in one lease.
constexpr size_t kTargetsAtOnce = 8;

bool MayBeTriedAgain(const absl::Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsUnavailable(status);
}

absl::Status PlanChanged() {
  return MakeError(absl::StatusCode::kDataLoss,
                   {.fault = Fault::kInfra,
                    .reason = "SWEEP_PLAN_LOST",
                    .what = "the plan of this sweep is gone, and this version "
                            "of the daemon makes another one",
                    .fix = "run the sweep again; what is finished is not "
                           "computed again"});
}

class SweepJob {
 public:
  SweepJob(std::string id, const v1::CreateJobRequest& request,
           SweepLimits limits, SweepContext& context,
           std::shared_ptr<SweepMail> mail)
      : id_(std::move(id)),
        request_(request),
        limits_(limits),
        context_(context),
        mail_(std::move(mail)) {}

  Task<JobResult> Run();

 private:
  // Cells of one model that are to be told, in their order.
  using Waiting = std::deque<int>;

  absl::Status ReadTold();
  Task<absl::Status> GetPlan();
  void TellPlan();
  void Recount(const v1::SweepRow& row);
  Task<absl::Status> RunCells();
  bool MayStart() const;
  void Start(int cell);
  void PrefetchTargets(int cell);
  absl::StatusOr<v1::Digest> StoreDescriptor(int variant);
  void Refused(int cell, const absl::Status& why);
  void Handle(SweepNews news);
  void Over(int cell);
  void TellOver(const std::string& model);
  v1::SweepRow RowOf(int cell);
  void TellRow(v1::SweepRow row);
  void TellProgress();
  Task<absl::Status> CancelCells();
  const std::string& ModelOf(int cell) const;

  const std::string id_;
  const v1::CreateJobRequest request_;
  const SweepLimits limits_;
  SweepContext& context_;
  const std::shared_ptr<SweepMail> mail_;
  v1::SweepPlan plan_;
  v1::Digest plan_digest_;
  std::vector<std::vector<std::string>> model_names_;  // By group.
  std::map<int, v1::SweepRow> told_;  // Of an earlier life; until it is used.
  bool plan_was_told_ = false;
  v1::SweepSummary summary_;
  int next_ = 0;             // Cells from here on were not looked at.
  int prefetched_ = 0;       // As well, for their targets.
  std::deque<int> refused_;  // To be tried again.
  int rings_ = 0;            // Since the last attempt.
  // Jobs of cells; "" while one is being created.
  std::map<int, std::string> in_flight_;
  // Over, but not told: the job, or why there is none.
  std::map<int, std::string> over_;
  std::map<int, absl::Status> failed_;
  std::map<std::string, Waiting> waiting_;  // By model.
  // By model and digest of the program: the first cell.
  std::map<std::pair<std::string, std::string>, int> programs_;
  std::map<int, v1::Digest> descriptors_;  // Of variants that were stored.
  int64_t over_count_ = 0;
  int64_t progress_at_ = 0;
};

const std::string& SweepJob::ModelOf(int cell) const {
  const v1::SweepPlan::Cell& planned = plan_.cells(cell);
  return model_names_[planned.group()][planned.model()];
}

absl::Status SweepJob::ReadTold() {
  EK_ASSIGN_OR_RETURN(std::vector<v1::JobEvent> events, context_.Told());
  for (v1::JobEvent& event : events) {
    if (event.has_planned()) {
      plan_was_told_ = true;
      plan_digest_ = event.planned().plan();
    } else if (event.has_row()) {
      const int cell = event.row().cell();
      told_.emplace(cell, std::move(*event.mutable_row()));
    }
  }
  return absl::OkStatus();
}

Task<absl::Status> SweepJob::GetPlan() {
  if (plan_was_told_) {
    const absl::StatusOr<std::string> bytes = context_.Load(plan_digest_);
    if (bytes.ok()) {
      EK_CO_ASSIGN_OR_RETURN(plan_, ParsePlan(*bytes));
      co_return absl::OkStatus();
    }
  }
  EK_CO_ASSIGN_OR_RETURN(
      StoredPlan stored,
      co_await RunPlanStage(request_.sweep(), limits_.max_cells, context_,
                            context_.stages()));
  if (plan_was_told_ && stored.digest.hash() != plan_digest_.hash()) {
    co_return PlanChanged();
  }
  plan_ = std::move(stored.plan);
  plan_digest_ = std::move(stored.digest);
  co_return absl::OkStatus();
}

// Counts a row that is, or was, told.
void SweepJob::Recount(const v1::SweepRow& row) {
  AddRow(row, summary_);
  const std::string& program = row.report().program().hash();
  if (row.state() == v1::SweepRow::DONE && !program.empty()) {
    programs_.try_emplace({ModelOf(row.cell()), program}, row.cell());
  }
}

// What is known before anything runs.
void SweepJob::TellPlan() {
  for (const v1::SweepGroup& group : request_.sweep().groups()) {
    std::vector<std::string>& names = model_names_.emplace_back();
    for (const v1::SweepModel& model : group.models()) {
      names.push_back(SweepModelName(model));
    }
  }
  summary_ = SummaryOf(plan_);
  if (!plan_was_told_) {
    v1::JobEvent event;
    *event.mutable_planned() = PlannedOf(request_.sweep(), plan_, plan_digest_);
    context_.Tell(std::move(event));
  }
  for (int cell = 0; cell < plan_.cells_size(); ++cell) {
    const bool runs = plan_.cells(cell).state() == v1::SweepPlan::VALID;
    const auto told = told_.find(cell);
    if (told != told_.end()) {
      if (runs) Recount(told->second);
      // Only that it was told is of interest from now on.
      told->second.Clear();
    } else if (runs) {
      waiting_[ModelOf(cell)].push_back(cell);
    } else {
      TellRow(PlannedRow(request_.sweep(), plan_, cell));
    }
  }
  over_count_ = summary_.done() + summary_.failed();
  context_.SetSummary(summary_);
}

bool SweepJob::MayStart() const {
  if (static_cast<int>(in_flight_.size()) >= limits_.max_in_flight) {
    return false;
  }
  if (!refused_.empty()) return rings_ >= kRingsBetweenAttempts;
  return next_ < plan_.cells_size();
}

absl::StatusOr<v1::Digest> SweepJob::StoreDescriptor(int variant) {
  const auto known = descriptors_.find(variant);
  if (known != descriptors_.end()) return known->second;
  EK_ASSIGN_OR_RETURN(v1::Digest digest,
                      context_.Store(DescriptorOf(plan_, variant)));
  // Cells of one variant follow each other closely, or are many.
  constexpr size_t kMaxKnown = 4096;
  if (descriptors_.size() < kMaxKnown) descriptors_.emplace(variant, digest);
  return digest;
}

void SweepJob::Refused(int cell, const absl::Status& why) {
  in_flight_.erase(cell);
  if (MayBeTriedAgain(why)) {
    refused_.push_back(cell);
    rings_ = 0;
    context_.TellWaiting(why);
    return;
  }
  failed_.emplace(cell, why);
  Over(cell);
}

// Those of this cell and of the next ones are resolved in one lease.
void SweepJob::PrefetchTargets(int cell) {
  if (cell < prefetched_) return;
  std::set<int> variants;
  prefetched_ = cell;
  while (prefetched_ < plan_.cells_size() && variants.size() < kTargetsAtOnce) {
    const v1::SweepPlan::Cell& planned = plan_.cells(prefetched_++);
    if (planned.state() == v1::SweepPlan::VALID) {
      variants.insert(planned.variant());
    }
  }
  std::vector<StageCall> calls;
  for (const int variant : variants) {
    const absl::StatusOr<v1::Digest> target = StoreDescriptor(variant);
    if (target.ok()) calls.push_back(ResolveCall(*target));
  }
  context_.stages().Prefetch(calls);
}

void SweepJob::Start(int cell) {
  in_flight_[cell];
  PrefetchTargets(cell);
  const absl::StatusOr<v1::Digest> target =
      StoreDescriptor(plan_.cells(cell).variant());
  if (!target.ok()) return Refused(cell, target.status());
  context_.CreateCell(CellRequest(id_, request_, plan_, cell, *target),
                      [mail = mail_, cell](absl::StatusOr<v1::Job> job) {
                        mail->Post({.kind = SweepNews::Kind::kCreated,
                                    .cell = cell,
                                    .job = std::move(job)});
                      });
}

void SweepJob::Handle(SweepNews news) {
  const int cell = news.cell;
  switch (news.kind) {
    case SweepNews::Kind::kBell:
      ++rings_;
      return TellProgress();
    case SweepNews::Kind::kCreated:
      if (!news.job.ok()) return Refused(cell, news.job.status());
      in_flight_[cell] = news.job->id();
      return context_.AwaitEnd(news.job->id(), [mail = mail_, cell] {
        mail->Post({.kind = SweepNews::Kind::kEnded, .cell = cell});
      });
    case SweepNews::Kind::kEnded:
      auto ended = in_flight_.extract(cell);
      over_.emplace(cell, std::move(ended.mapped()));
      return Over(cell);
  }
}

void SweepJob::Over(int cell) {
  ++over_count_;
  TellOver(ModelOf(cell));
}

void SweepJob::TellOver(const std::string& model) {
  Waiting& waiting = waiting_[model];
  while (!waiting.empty()) {
    const int cell = waiting.front();
    if (over_.count(cell) + failed_.count(cell) == 0) return;
    waiting.pop_front();
    v1::SweepRow row = RowOf(cell);
    Recount(row);
    const auto first = programs_.find({model, row.report().program().hash()});
    if (row.state() == v1::SweepRow::DONE && first != programs_.end() &&
        first->second != cell) {
      row.set_same_as(first->second);
    }
    TellRow(std::move(row));
    context_.SetSummary(summary_);
  }
}

v1::SweepRow SweepJob::RowOf(int cell) {
  v1::SweepRow row = PlannedRow(request_.sweep(), plan_, cell);
  if (const auto failed = failed_.extract(cell); !failed.empty()) {
    AddError(ErrorToProto(failed.mapped()), row);
    return row;
  }
  const std::string id = std::move(over_.extract(cell).mapped());
  const absl::StatusOr<v1::Job> job = context_.GetJob(id);
  if (!job.ok()) {
    AddError(ErrorToProto(job.status()), row);
    return row;
  }
  if (job->reports() == 0) {
    AddResult(*job, /*report=*/nullptr, row);
    return row;
  }
  const absl::StatusOr<v1::Report> report = context_.GetReport(id);
  AddResult(*job, report.ok() ? &*report : nullptr, row);
  if (!report.ok()) AddError(ErrorToProto(report.status()), row);
  return row;
}

void SweepJob::TellRow(v1::SweepRow row) {
  v1::JobEvent event;
  *event.mutable_row() = std::move(row);
  context_.Tell(std::move(event));
}

// That cells are over which rows do not tell yet.
void SweepJob::TellProgress() {
  const int64_t told = summary_.done() + summary_.failed();
  if (over_count_ == told || over_count_ < progress_at_ + kCellsPerProgress) {
    return;
  }
  progress_at_ = over_count_;
  v1::JobEvent event;
  event.mutable_progress()->set_stage("cells");
  v1::StageProgress& progress = *event.mutable_progress()->mutable_progress();
  progress.set_done(over_count_);
  progress.set_total(summary_.valid());
  progress.set_unit("cells");
  context_.Tell(std::move(event));
}

Task<absl::Status> SweepJob::RunCells() {
  while (true) {
    EK_CO_RETURN_IF_ERROR(context_.Stopped());
    if (std::optional<SweepNews> news = mail_->TryTake()) {
      Handle(*std::move(news));
      continue;
    }
    if (!MayStart()) {
      const bool all_looked_at =
          next_ == plan_.cells_size() && refused_.empty();
      if (all_looked_at && in_flight_.empty()) co_return absl::OkStatus();
      Later<SweepNews> next = SweepMail::Next(mail_);
      SweepNews news = co_await next;
      Handle(std::move(news));
      continue;
    }
    if (!refused_.empty()) {
      const int cell = refused_.front();
      refused_.pop_front();
      Start(cell);
    } else {
      const int cell = next_++;
      if (plan_.cells(cell).state() != v1::SweepPlan::VALID) continue;
      if (told_.count(cell) > 0) continue;
      Start(cell);
    }
    // One that is recalled has taken its time: others have a turn.
    Later<bool> turn([](const std::function<void(bool)>& told) { told(true); });
    co_await turn;
  }
}

// Those that are being created must be waited for: nobody else knows them.
Task<absl::Status> SweepJob::CancelCells() {
  std::set<int> creating;
  for (const auto& [cell, job] : in_flight_) {
    if (job.empty()) {
      creating.insert(cell);
    } else {
      context_.CancelCell(job);
    }
  }
  while (!creating.empty() && !context_.Interrupted()) {
    Later<SweepNews> next = SweepMail::Next(mail_);
    const SweepNews news = co_await next;
    if (news.kind != SweepNews::Kind::kCreated) continue;
    creating.erase(news.cell);
    if (news.job.ok()) context_.CancelCell(news.job->id());
  }
  co_return absl::OkStatus();
}

Task<JobResult> SweepJob::Run() {
  absl::Status status = ReadTold();
  if (status.ok()) status = co_await GetPlan();
  if (status.ok()) {
    TellPlan();
    status = co_await RunCells();
    if (!status.ok() && !context_.Interrupted()) {
      (co_await CancelCells()).IgnoreError();
    }
  }
  JobResult result(std::move(status));
  if (plan_.cells_size() > 0) result.sweep = summary_;
  co_return result;
}

Task<JobResult> RunSweepJob(std::unique_ptr<SweepJob> job) {
  co_return co_await job->Run();
}

}  // namespace

SweepRun NewSweepRun(std::string job_id, const v1::CreateJobRequest& request,
                     SweepLimits limits, SweepContext& context) {
  auto mail = std::make_shared<SweepMail>();
  return {.bell = mail,
          .task = RunSweepJob(std::make_unique<SweepJob>(
              std::move(job_id), request, limits, context, mail))};
}

}  // namespace edgekiln::server
