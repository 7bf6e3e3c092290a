#include "client/render/event_line.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/render/progress.h"

namespace edgekiln::client {
namespace {

// "tile", "tile on toy-array".
std::string StageText(const std::string& stage, int target,
                      const v1::CreateJobRequest& request) {
  std::string text = CleanText(stage);
  if (target >= 0 && target < request.targets_size()) {
    absl::StrAppend(&text, text.empty() ? "" : " ", "on ",
                    CleanText(request.targets(target).name()));
  }
  return text;
}

std::string FinishedText(const v1::Report::Stage& stage) {
  std::string text = absl::StrCat(CleanText(stage.name()), "  ",
                                  v1::Report::Stage::Cache_Name(stage.cache()));
  if (stage.seconds() > 0) {
    absl::StrAppend(&text, "  ",
                    FormatTimeSpan(absl::Seconds(stage.seconds())));
  }
  return text;
}

std::string SamplesText(const v1::JobEvent::Samples& samples,
                        const v1::CreateJobRequest& request) {
  if (samples.done() < samples.total()) return "";
  std::string text =
      absl::StrCat(Count(samples.done(), "sample", "samples"), " done");
  if (request.targets_size() > 1) {
    absl::StrAppend(&text, " ", StageText("", samples.target(), request));
  }
  if (samples.has_accuracy()) {
    absl::StrAppend(&text, "  accuracy ",
                    FormatPercent(samples.accuracy().value(), 2), " ",
                    IntervalText(samples.accuracy()));
  }
  if (samples.mismatches() > 0) {
    absl::StrAppend(&text, "  ",
                    Count(samples.mismatches(), "mismatch", "mismatches"));
  }
  return text;
}

bool IsWarning(const v1::JobEvent& event) {
  return event.has_log() &&
         event.log().severity() == v1::JobEvent::Log::WARNING;
}

std::string LogText(const v1::JobEvent& event,
                    const v1::CreateJobRequest& request) {
  const v1::JobEvent::Log& log = event.log();
  const std::string stage = StageText(log.stage(), log.target(), request);
  return absl::StrCat(stage, stage.empty() ? "" : "  ",
                      IsWarning(event) ? "warning: " : "",
                      CleanText(log.text()));
}

// "cell 3  done  resnet8 on dla-64  pes=32  195 561 cycles".
std::string RowText(const v1::SweepRow& row) {
  std::string out = absl::StrCat(
      "cell ", row.cell(), "  ",
      absl::AsciiStrToLower(v1::SweepRow::State_Name(row.state())), "  ",
      CleanText(row.model()), " on ", CleanText(row.target()));
  for (const v1::SweepRow::Value& value : row.values()) {
    absl::StrAppend(&out, "  ", CleanText(value.key()), "=",
                    CleanText(value.value()));
  }
  if (row.report().totals().cycles() > 0) {
    absl::StrAppend(&out, "  ", GroupDigits(row.report().totals().cycles()),
                    " cycles");
  }
  if (row.has_error()) {
    absl::StrAppend(&out, "  ", CleanText(row.error().what()));
  }
  return out;
}

std::string Text(const v1::JobEvent& event,
                 const v1::CreateJobRequest& request) {
  switch (event.event_case()) {
    case v1::JobEvent::kState:
      return absl::AsciiStrToLower(v1::JobState_Name(event.state()));
    case v1::JobEvent::kStageStarted:
      return absl::StrCat(StageText(event.stage_started().name(),
                                    event.stage_started().target(), request),
                          "  started");
    case v1::JobEvent::kStageFinished:
      return FinishedText(event.stage_finished());
    case v1::JobEvent::kSamples:
      return SamplesText(event.samples(), request);
    case v1::JobEvent::kWaiting: {
      ProgressModel model(absl::ZeroDuration());
      model.Apply(event, absl::ZeroDuration());
      return model.WaitingText();
    }
    case v1::JobEvent::kError:
      return absl::StrCat("error: ", CleanText(event.error().what()));
    case v1::JobEvent::kCounted:
      return CountedText(event.counted());
    case v1::JobEvent::kLog:
      return LogText(event, request);
    case v1::JobEvent::kPlanned:
      return absl::StrCat(
          "planned  ",
          Count(event.planned().summary().cells(), "cell", "cells"), ", ",
          GroupDigits(event.planned().summary().valid()), " to be run");
    case v1::JobEvent::kRow:
      return RowText(event.row());
    case v1::JobEvent::kProgress:
    case v1::JobEvent::EVENT_NOT_SET:
      break;
  }
  return "";
}

std::string Painted(const v1::JobEvent& event, const std::string& line,
                    const Style& style) {
  if (event.has_error()) return style.Red(line);
  return IsWarning(event) ? style.Yellow(line) : line;
}

}  // namespace

std::string EventLine(const v1::JobEvent& event,
                      const v1::CreateJobRequest& request, absl::TimeZone zone,
                      const Style& style) {
  const std::string text = Text(event, request);
  if (text.empty()) return "";
  const absl::Time time = absl::FromUnixSeconds(event.time().seconds()) +
                          absl::Nanoseconds(event.time().nanos());
  const std::string front =
      absl::FormatTime("%Y-%m-%d %H:%M:%E3S", time, zone) + "  ";
  const int indent = static_cast<int>(front.size());
  const int width = style.width() > 0 ? std::max(style.width() - indent, 1) : 0;
  std::string out;
  for (const std::string& line : WrapWords(text, width)) {
    absl::StrAppend(&out,
                    out.empty() ? style.Dim(front) : std::string(indent, ' '),
                    Painted(event, line, style), "\n");
  }
  return out;
}

}  // namespace edgekiln::client
