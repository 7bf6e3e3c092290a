#include "client/render/progress_model.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/format_bytes.h"

namespace edgekiln::client {
namespace {

// An ETA from less is noise.
constexpr absl::Duration kEtaAfter = absl::Seconds(1);

// ": ", or " (number 3, about 40s): " as far as it is known. First, as the line
// may be clipped.
std::string PlaceText(const v1::JobEvent::Waiting& waiting) {
  std::vector<std::string> parts;
  if (waiting.position() > 0) {
    parts.push_back(absl::StrCat("number ", waiting.position()));
  }
  if (waiting.has_eta()) {
    const absl::Duration eta = absl::Seconds(waiting.eta().seconds()) +
                               absl::Nanoseconds(waiting.eta().nanos());
    // More digits than it has would be a promise.
    const absl::Duration rounded =
        absl::Ceil(std::max(eta, absl::Seconds(1)), absl::Seconds(1));
    parts.push_back(absl::StrCat("about ", absl::FormatDuration(rounded)));
  }
  if (parts.empty()) return ": ";
  return absl::StrCat(" (", absl::StrJoin(parts, ", "), "): ");
}

std::string PercentOf(int64_t done, int64_t total) {
  const double share = std::clamp(
      static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0);
  return absl::StrFormat("%d %%", static_cast<int>(share * 100));
}

}  // namespace

std::string BaseName(absl::string_view stage) {
  return CleanText(stage.substr(0, stage.find('[')));
}

void ProgressModel::SetLocalStep(absl::string_view step, int64_t done_bytes,
                                 int64_t total_bytes, absl::Duration now) {
  // Another file is another step.
  if (stage_ != step || total_bytes != stage_progress_.total() ||
      done_bytes < stage_progress_.done()) {
    stage_pace_ = {.first_done = done_bytes, .first_at = now};
  }
  stage_ = std::string(step);
  stage_progress_.set_done(done_bytes);
  stage_progress_.set_total(total_bytes);
  stage_progress_.set_unit("bytes");
}

void ProgressModel::Apply(const v1::JobEvent& event, absl::Duration now) {
  reconnecting_ = false;
  if (event.has_waiting()) {
    const std::string reason = CleanText(event.waiting().reason());
    waiting_ = absl::StrCat(PlaceText(event.waiting()),
                            reason.empty() ? "for the daemon" : reason);
    return;
  }
  waiting_.clear();
  switch (event.event_case()) {
    case v1::JobEvent::kStageStarted:
      running_.push_back(BaseName(event.stage_started().name()));
      ShowStage(running_.back());
      break;
    case v1::JobEvent::kStageFinished:
      EndStage(BaseName(event.stage_finished().name()));
      break;
    case v1::JobEvent::kProgress: {
      const v1::StageProgress& progress = event.progress().progress();
      ShowStage(BaseName(event.progress().stage()));
      // Another target's stage of that name, or the same one again.
      if (stage_progress_.total() == 0 ||
          progress.done() < stage_progress_.done()) {
        stage_pace_ = {.first_done = progress.done(), .first_at = now};
      }
      stage_progress_ = progress;
      break;
    }
    case v1::JobEvent::kSamples:
      ApplySamples(event.samples(), now);
      break;
    case v1::JobEvent::kPlanned:
      cells_ = event.planned().summary();
      cells_pace_ = {.first_done = 0, .first_at = now};
      break;
    case v1::JobEvent::kRow:
      ApplyRow(event.row());
      break;
    case v1::JobEvent::kState:
      if (event.state() != v1::QUEUED) break;
      running_.clear();
      stage_ = "queued";
      stage_progress_.Clear();
      break;
    default:
      break;
  }
}

void ProgressModel::ApplyRow(const v1::SweepRow& row) {
  if (row.state() == v1::SweepRow::DONE) {
    cells_.set_done(cells_.done() + 1);
  } else if (row.state() == v1::SweepRow::FAILED ||
             row.state() == v1::SweepRow::CANCELLED) {
    cells_.set_failed(cells_.failed() + 1);
  }
}

std::string ProgressModel::CellsText(absl::Duration now) const {
  const int64_t rows = cells_.done() + cells_.failed();
  const int64_t total = cells_.valid();
  std::string out =
      absl::StrCat("cells  ", GroupDigits(rows), "/", GroupDigits(total), " (",
                   PercentOf(rows, total), ")");
  if (cells_.failed() > 0) {
    absl::StrAppend(&out, "  ", GroupDigits(cells_.failed()), " failed");
  }
  // Rows wait for those before them.
  const int64_t over = stage_ == "cells" ? stage_progress_.done() : 0;
  if (over > rows) {
    absl::StrAppend(&out, "  ", GroupDigits(over - rows),
                    " more wait for an earlier cell");
  }
  return out + cells_pace_.Eta(std::max(rows, over), total, now);
}

void ProgressModel::ShowStage(const std::string& stage) {
  if (stage_ == stage) return;
  stage_ = stage;
  stage_progress_.Clear();
}

// What was found in the cache never ran.
void ProgressModel::EndStage(const std::string& stage) {
  const auto found = std::find(running_.begin(), running_.end(), stage);
  if (found == running_.end()) return;
  running_.erase(found);
  if (running_.empty()) return;
  if (std::find(running_.begin(), running_.end(), stage_) == running_.end()) {
    ShowStage(running_.back());
  }
}

void ProgressModel::ApplySamples(const v1::JobEvent::Samples& samples,
                                 absl::Duration now) {
  const auto [known, is_new] = samples_.try_emplace(samples.target());
  // Fewer than before: the daemon was restarted and looks up what it has.
  const bool again = is_new || samples.done() < known->second.done();
  known->second = samples;
  if (again) {
    samples_pace_ = {.first_done = AllSamples().done(), .first_at = now};
  }
}

v1::JobEvent::Samples ProgressModel::AllSamples() const {
  v1::JobEvent::Samples all;
  for (const auto& [target, samples] : samples_) {
    all.set_done(all.done() + samples.done());
    all.set_total(all.total() + samples.total());
    all.set_mismatches(all.mismatches() + samples.mismatches());
  }
  return all;
}

std::string ProgressModel::Pace::Eta(int64_t done, int64_t total,
                                     absl::Duration now) const {
  const absl::Duration spent = now - first_at;
  if (done <= first_done || done >= total || spent < kEtaAfter) return "";
  const double left = static_cast<double>(total - done) /
                      static_cast<double>(done - first_done);
  return absl::StrCat("  ETA ", FormatTimeSpan(spent * left));
}

std::string ProgressModel::StepText(absl::Duration now) const {
  std::string out = stage_.empty() ? "starting" : stage_;
  if (running_.size() > 1) {
    absl::StrAppend(&out, " and ", running_.size() - 1, " more");
  }
  const int64_t done = stage_progress_.done();
  const int64_t total = stage_progress_.total();
  if (total <= 0) return out;
  if (stage_progress_.unit() == "bytes") {
    absl::StrAppend(&out, "  ", FormatBytes(done), " of ", FormatBytes(total));
  } else {
    absl::StrAppend(&out, "  ", GroupDigits(done), "/", GroupDigits(total), " ",
                    CleanText(stage_progress_.unit()));
  }
  return absl::StrCat(out, " (", PercentOf(done, total), ")",
                      stage_pace_.Eta(done, total, now));
}

// With several targets, in their order and without intervals.
std::string ProgressModel::AccuracyText() const {
  std::vector<std::string> shares;
  for (const auto& [target, samples] : samples_) {
    if (samples.labelled() <= 0) continue;
    std::string share =
        FormatPercent(static_cast<double>(samples.correct()) /
                          static_cast<double>(samples.labelled()),
                      2);
    if (samples_.size() == 1 && samples.has_accuracy()) {
      absl::StrAppend(&share, " ", IntervalText(samples.accuracy()));
    }
    shares.push_back(std::move(share));
  }
  if (shares.empty()) return "";
  return absl::StrCat("  accuracy ", absl::StrJoin(shares, ", "));
}

std::string ProgressModel::SamplesText(absl::Duration now) const {
  if (samples_.empty()) return "";
  const v1::JobEvent::Samples all = AllSamples();
  std::string out = GroupDigits(all.done());
  if (all.total() > 0) {
    absl::StrAppend(&out, "/", GroupDigits(all.total()), " samples (",
                    PercentOf(all.done(), all.total()), ")");
  } else {
    out += " samples";
  }
  out += AccuracyText();
  if (all.mismatches() > 0) {
    absl::StrAppend(&out, "  ",
                    Count(all.mismatches(), "MISMATCH", "MISMATCHES"));
  }
  return out + samples_pace_.Eta(all.done(), all.total(), now);
}

std::string ProgressModel::WaitingText() const {
  return waiting_.empty() ? "" : absl::StrCat("waiting", waiting_);
}

std::string ProgressModel::Line(absl::Duration now, int width) const {
  const double seconds = std::max(0.0, absl::ToDoubleSeconds(now - start_));
  const std::string clock = absl::StrFormat("%5.1f s  ", seconds);
  std::string rest = WaitingText();
  if (reconnecting_) {
    rest = "connection lost, waiting for the daemon";
  } else if (rest.empty() && has_cells()) {
    rest = CellsText(now);
  } else if (rest.empty()) {
    // Once samples flow they say more than the stage's own count.
    const std::string samples = SamplesText(now);
    rest =
        samples.empty() ? StepText(now) : absl::StrCat(stage_, "  ", samples);
  }
  return ClipEnd(clock + rest, width);
}

std::string CountedText(const v1::JobEvent::Counted& counted) {
  const v1::Report& report = counted.report();
  const v1::Report::Totals& totals = report.totals();
  std::string out = absl::StrCat("counted  ", CleanText(report.model_name()),
                                 " on ", CleanText(report.target_name()), ": ",
                                 GroupDigits(totals.cycles()), " cycles");
  if (totals.fidelity() != v1::FIDELITY_UNSPECIFIED) {
    absl::StrAppend(&out, " (", FidelityText(totals.fidelity()), ")");
  }
  absl::StrAppend(&out, ", latency ", LatencyText(totals.latency_ms()));
  if (totals.cycles() > 0) {
    absl::StrAppend(&out, ", ",
                    FormatPercent(static_cast<double>(totals.host_cycles()) /
                                      static_cast<double>(totals.cycles()),
                                  1),
                    " of cycles on the host");
  }
  return out;
}

}  // namespace edgekiln::client
