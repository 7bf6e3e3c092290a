#include "client/lsp/loop.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/error.h"
#include "base/mutex.h"
#include "base/scoped_fd.h"
#include "client/error_detail.h"
#include "client/exit_code.h"
#include "client/lsp/framing.h"
#include "client/lsp/server.h"
#include "client/render/error_block.h"
#include "reports/text/text.h"

namespace edgekiln::client::lsp {
namespace {

constexpr size_t kReadBytes = size_t{64} << 10;
// Of messages that wait; then the editor waits.
constexpr size_t kMaxQueuedBytes = size_t{32} << 20;

// What the main loop has to handle. Thread-safe.
class Inbox {
 public:
  struct Batch {
    std::vector<Frame> frames;
    std::vector<DaemonAnswer> answers;
    std::vector<FilesAnswer> files;
    bool ended = false;  // Nothing more comes from the editor.
    absl::Status error;  // Why, unless the input just ended.
  };

  // Waits as long as too much is queued; false once the main loop has ended.
  bool Push(Frame frame) {
    MutexLock lock(mutex_);
    while (queued_bytes_ > kMaxQueuedBytes && !closed_) changed_.Wait(lock);
    if (closed_) return false;
    queued_bytes_ += frame.body.size();
    batch_.frames.push_back(std::move(frame));
    changed_.NotifyAll();
    return true;
  }
  void Push(DaemonAnswer answer) {
    MutexLock lock(mutex_);
    batch_.answers.push_back(std::move(answer));
    changed_.NotifyAll();
  }
  void Push(FilesAnswer answer) {
    MutexLock lock(mutex_);
    batch_.files.push_back(std::move(answer));
    changed_.NotifyAll();
  }
  void End(absl::Status error) {
    MutexLock lock(mutex_);
    batch_.ended = true;
    batch_.error = std::move(error);
    changed_.NotifyAll();
  }
  void Close() {
    MutexLock lock(mutex_);
    closed_ = true;
    changed_.NotifyAll();
  }

  // Everything that has come; waits until there is something.
  Batch Take() {
    MutexLock lock(mutex_);
    while (batch_.frames.empty() && batch_.answers.empty() &&
           batch_.files.empty() && !batch_.ended) {
      changed_.Wait(lock);
    }
    queued_bytes_ = 0;
    Batch taken = std::exchange(batch_, {});
    changed_.NotifyAll();
    return taken;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  Batch batch_ ABSL_GUARDED_BY(mutex_);
  size_t queued_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

// Reads until the input ends, or something is written to `stop_fd`'s pipe.
void ReadFrames(int input_fd, int stop_fd, Inbox& inbox) {
  FrameReader reader;
  std::string bytes(kReadBytes, '\0');
  while (true) {
    pollfd waiting[] = {{input_fd, POLLIN, 0}, {stop_fd, POLLIN, 0}};
    if (poll(waiting, 2, -1) < 0 && errno != EINTR) break;
    if (waiting[1].revents != 0) break;
    if (waiting[0].revents == 0) continue;
    const ssize_t got = read(input_fd, bytes.data(), bytes.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) break;
    reader.Append(absl::string_view(bytes.data(), static_cast<size_t>(got)));
    while (true) {
      absl::StatusOr<std::optional<Frame>> frame = reader.Next();
      if (!frame.ok()) {
        inbox.End(frame.status());
        return;
      }
      if (!frame->has_value()) break;
      if (!inbox.Push(std::move(**frame))) return;
    }
  }
  inbox.End(absl::OkStatus());
}

bool WriteAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {
      pollfd waiting = {fd, POLLOUT, 0};
      poll(&waiting, 1, -1);
      continue;
    }
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

absl::Status OutputLost() {
  return MakeError(absl::StatusCode::kUnavailable,
                   {.fault = Fault::kInfra,
                    .reason = "OUTPUT",
                    .what = "the standard output cannot be written",
                    .fix = "the editor is gone; start the server again"});
}

// The process, as it would with that result of ServeLanguage().
[[noreturn]] void Leave(const absl::StatusOr<int>& result) {
  if (result.ok()) _exit(*result);
  WriteAll(STDERR_FILENO,
           RenderError(DetailFromStatus(result.status()), Style::Plain()));
  _exit(static_cast<int>(ExitCodeFor(result.status())));
}

// What may be waiting for an answer.
struct Helpers {
  std::unique_ptr<Daemon> daemon;
  std::unique_ptr<FileFinder> finder;
};

// Ends `helpers` within `patience`; if that is not enough, leaves the process:
// nothing of it needs an orderly end.
void EndWithin(Helpers helpers, absl::Duration patience,
               const absl::StatusOr<int>& result) {
  Mutex mutex;
  CondVar ended_changed;
  bool ended = false;
  std::thread ending([&] {
    helpers = {};
    MutexLock lock(mutex);
    ended = true;
    ended_changed.NotifyAll();
  });
  {
    MutexLock lock(mutex);
    const auto until =
        std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(patience);
    while (!ended) {
      if (!ended_changed.WaitUntil(lock, until) && !ended) Leave(result);
    }
  }
  ending.join();
}

}  // namespace

absl::StatusOr<int> ServeLanguage(const LoopOptions& options) {
  signal(SIGPIPE, SIG_IGN);  // A lost editor is an error of write().
  int stop_pipe[2];
  if (pipe2(stop_pipe, O_CLOEXEC) != 0) {
    return absl::ErrnoToStatus(errno, "pipe2");
  }
  const ScopedFd stop_read(stop_pipe[0]);
  ScopedFd stop_write(stop_pipe[1]);
  Inbox inbox;
  bool lost = false;
  Helpers helpers{
      .daemon = options.new_daemon(
          [&inbox](DaemonAnswer answer) { inbox.Push(std::move(answer)); }),
      .finder = NewFileFinder(*options.files, [&inbox](FilesAnswer answer) {
        inbox.Push(std::move(answer));
      })};
  Server server({.version = options.version,
                 .send =
                     [&](const std::string& body) {
                       lost =
                           lost || !WriteAll(options.output_fd, FrameOf(body));
                     },
                 .find_files =
                     [&](FilesRequest request) {
                       helpers.finder->Find(std::move(request));
                     }},
                *helpers.daemon);
  std::thread reading(
      [&] { ReadFrames(options.input_fd, stop_read.get(), inbox); });
  absl::Status error;
  bool ended = false;
  while (!ended && !lost && !server.done()) {
    Inbox::Batch batch = inbox.Take();
    server.Handle(batch.frames);
    for (DaemonAnswer& answer : batch.answers) {
      if (!server.done()) server.Handle(std::move(answer));
    }
    for (FilesAnswer& answer : batch.files) {
      if (!server.done()) server.HandleFiles(std::move(answer));
    }
    ended = batch.ended;
    error = batch.error;
  }
  inbox.Close();
  stop_write.reset();
  reading.join();
  absl::StatusOr<int> result = server.exit_code();
  if (lost) result = OutputLost();
  if (!error.ok()) result = error;
  EndWithin(std::move(helpers), options.patience, result);
  return result;
}

}  // namespace edgekiln::client::lsp
