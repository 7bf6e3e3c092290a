#ifndef EK_CLIENT_RENDER_PROGRESS_H_
#define EK_CLIENT_RENDER_PROGRESS_H_

// What a running job looks like to the person waiting for it: one line that is
// redrawn on a terminal, with lines above it where a command has some; a few
// plain lines elsewhere.

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/render/live_block.h"
#include "client/render/progress_model.h"
#include "edgekiln/v1/jobs.pb.h"
#include "reports/text/text.h"

namespace edgekiln::client {

enum class ProgressStyle {
  kNone,
  kPlain,  // A line per stage; running totals at most once a second.
  kLive,   // One line redrawn at most ten times a second.
};

// Feeds a ProgressModel and writes what changed. Not thread-safe.
class Progress {
 public:
  struct Options {
    ProgressStyle style = ProgressStyle::kNone;
    Style colours = Style::Plain();
    std::function<void(absl::string_view)> write;  // To the error output.
    std::function<int()> width;  // Columns; 0 or absent: no limit.
    // Lines of a window in which several can be redrawn. 0 or absent: in this
    // one, only one can.
    std::function<int()> height = nullptr;
    // Told how far above the cursor the first line is that is redrawn: before
    // it comes closer, and after it has gone farther. May be absent.
    std::function<void(int)> on_lines_above = nullptr;
    std::function<absl::Duration()> now;  // Monotonic.
    // How long a daemon that is gone is waited for.
    absl::Duration reconnect_for = absl::InfiniteDuration();
  };
  explicit Progress(Options options);
  // Clears the live line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void OnLocalStep(absl::string_view step, int64_t done_bytes,
                   int64_t total_bytes);
  void OnEvent(const v1::JobEvent& event);
  void OnReconnecting(bool reconnecting);
  // Lets time pass: the clock and the ETA move although nothing happens.
  void OnTick();
  // Removes the live line, so that other text can be written.
  void Clear();
  // `text` as a line of its own, above the live line. Nothing for kNone.
  void Say(absl::string_view text);
  // What stands above the live line from now on: `above` is asked for it each
  // time that something is redrawn, and must not return more than `lines`, none
  // wider than `style` says. Null: nothing any more; what was drawn is removed.
  using Above =
      std::function<std::vector<std::string>(int lines, const Style& style)>;
  void ShowAbove(Above above);

 private:
  void Redraw(bool force = false);
  // Writes what changes `block_`.
  void WriteBlock(absl::string_view text, int lines_before);
  void PlainEvent(const v1::JobEvent& event);
  void PlainTick();

  const Options options_;
  ProgressModel model_;
  Above above_;
  LiveBlock block_;  // What is drawn.
  absl::Duration last_draw_ = -absl::InfiniteDuration();
  absl::Duration last_samples_ = -absl::InfiniteDuration();
  std::string last_samples_text_;
  std::string last_waiting_;
  bool told_reconnecting_ = false;
  std::set<std::string> told_chunks_;  // Stages in chunks, told once.
};

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_PROGRESS_H_
