#include "client/render/progress.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace edgekiln::client {
namespace {

constexpr absl::Duration kRedrawInterval = absl::Milliseconds(100);
constexpr absl::Duration kPlainSamplesInterval = absl::Seconds(1);
// Of a window with lines above the live one: that one, and one more, so that
// the window does not scroll.
constexpr int kLinesLeftFree = 2;

}  // namespace

Progress::Progress(Options options)
    : options_(std::move(options)),
      model_(options_.now ? options_.now() : absl::ZeroDuration()) {}

Progress::~Progress() { Clear(); }

void Progress::WriteBlock(absl::string_view text, int lines_before) {
  if (text.empty()) return;
  const int lines_now = block_.lines_above();
  const bool told = options_.on_lines_above != nullptr;
  if (told && lines_now < lines_before) options_.on_lines_above(lines_now);
  options_.write(text);
  if (told && lines_now > lines_before) options_.on_lines_above(lines_now);
}

void Progress::Clear() {
  const int before = block_.lines_above();
  WriteBlock(block_.Erase(options_.width ? options_.width() : 0), before);
}

void Progress::ShowAbove(Above above) {
  Clear();
  above_ = std::move(above);
}

void Progress::Say(absl::string_view text) {
  if (options_.style == ProgressStyle::kNone) return;
  Clear();
  const int width = options_.width ? options_.width() : 0;
  for (const std::string& line : WrapWords(text, width)) {
    options_.write(absl::StrCat(line, "\n"));
  }
}

void Progress::Redraw(bool force) {
  const absl::Duration now = options_.now();
  if (!force && now - last_draw_ < kRedrawInterval) return;
  const int columns = options_.width();
  // The last column stays free: writing it wraps the line on some terminals.
  const int width = columns - 1;
  std::vector<std::string> lines;
  const int height = options_.height ? options_.height() : 0;
  if (above_ != nullptr && height > kLinesLeftFree) {
    lines = above_(height - kLinesLeftFree, options_.colours.WithWidth(width));
  }
  // Terminals write "^C" where the cursor is.
  const int last_width = lines.empty() ? width : width - 2;
  lines.push_back(model_.Line(now, last_width));
  const int before = block_.lines_above();
  const std::string text = block_.Draw(std::move(lines), columns);
  if (text.empty()) return;
  WriteBlock(text, before);
  last_draw_ = now;
}

void Progress::OnLocalStep(absl::string_view step, int64_t done_bytes,
                           int64_t total_bytes) {
  if (options_.style == ProgressStyle::kNone) return;
  model_.SetLocalStep(step, done_bytes, total_bytes, options_.now());
  // Nothing redraws while the daemon makes the last byte durable.
  const bool last = done_bytes == total_bytes;
  if (options_.style == ProgressStyle::kLive) Redraw(last);
}

void Progress::OnReconnecting(bool reconnecting) {
  model_.SetReconnecting(reconnecting);
  if (options_.style == ProgressStyle::kLive) Redraw();
  const bool news = reconnecting && !told_reconnecting_;
  told_reconnecting_ = reconnecting;
  if (options_.style == ProgressStyle::kPlain && news) {
    std::string text = "connection lost, waiting for the daemon";
    if (options_.reconnect_for != absl::InfiniteDuration()) {
      absl::StrAppend(&text, " for up to ",
                      FormatTimeSpan(options_.reconnect_for));
    }
    Say(text);
  }
}

void Progress::OnEvent(const v1::JobEvent& event) {
  if (options_.style == ProgressStyle::kNone) return;
  model_.Apply(event, options_.now());
  if (event.has_counted()) Say(CountedText(event.counted()));
  if (options_.style == ProgressStyle::kLive) {
    Redraw();
  } else {
    PlainEvent(event);
  }
}

void Progress::OnTick() {
  if (options_.style == ProgressStyle::kLive) Redraw();
  if (options_.style == ProgressStyle::kPlain) PlainTick();
}

// Chunks of one stage come by the dozen: the first is told, and then the
// samples say how far they are.
void Progress::PlainEvent(const v1::JobEvent& event) {
  if (event.has_stage_finished()) {
    const v1::Report::Stage& stage = event.stage_finished();
    const std::string name = BaseName(stage.name());
    const bool chunk = stage.name().find('[') != std::string::npos;
    if (!chunk || told_chunks_.insert(name).second) {
      std::string text = absl::StrCat(
          "stage ", name, "  ", v1::Report::Stage::Cache_Name(stage.cache()));
      if (stage.seconds() > 0) {
        absl::StrAppend(&text, "  ",
                        FormatTimeSpan(absl::Seconds(stage.seconds())));
      }
      Say(text);
    }
  }
  PlainTick();
}

void Progress::PlainTick() {
  const absl::Duration now = options_.now();
  const std::string waiting = model_.WaitingText();
  if (waiting != last_waiting_) {
    if (!waiting.empty()) Say(waiting);
    last_waiting_ = waiting;
  }
  if (now - last_samples_ < kPlainSamplesInterval) return;
  const std::string samples =
      model_.has_cells() ? model_.CellsText(now) : model_.SamplesText(now);
  // The ETA alone is no news.
  const std::string news = samples.substr(0, samples.find("  ETA"));
  if (samples.empty() || news == last_samples_text_) return;
  Say(samples);
  last_samples_ = now;
  last_samples_text_ = news;
}

}  // namespace edgekiln::client
