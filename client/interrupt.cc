#include "client/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <utility>

namespace edgekiln::client {

// Never freed: a handler on another thread may be reading the list.
struct RemovedOnInterrupt::Entry {
  const std::string path;
  Entry* next = nullptr;
  std::atomic<bool> exists{true};
};

namespace {

// Lock-free, hence allowed in a signal handler.
std::atomic<int> noted{0};
std::atomic<int> first_signal{0};  // Of the Interrupt that lives or lived last.
std::atomic<bool> holding{false};
std::atomic<bool> clear_line{false};
std::atomic<int> lines_above{0};
std::atomic<RemovedOnInterrupt::Entry*> removed{nullptr};

// Shells' exit code of a command that a signal ended, less the signal.
constexpr int kSignalExit = 128;

void Print(const char* text, size_t size) {
  const ssize_t written = write(2, text, size);
  static_cast<void>(written);
}

// Only what a signal handler may do.
void ClearLiveLines(int above) {
  static constexpr char kLineUp[] = "\x1b[A";
  static constexpr char kClear[] = "\r\x1b[J";
  for (; above > 0; --above) Print(kLineUp, sizeof(kLineUp) - 1);
  Print(kClear, sizeof(kClear) - 1);
}

void Handle(int signal) {
  if (holding.load()) {
    if (noted.fetch_add(1) == 0) {
      first_signal.store(signal);
      return;
    }
    // Bash passes it on when its terminal closes; the system sends another when
    // bash ends.
    if (signal == SIGHUP) return;
  }
  for (auto* entry = removed.load(); entry != nullptr; entry = entry->next) {
    if (entry->exists.load()) unlink(entry->path.c_str());
  }
  if (clear_line.load()) ClearLiveLines(lines_above.load());
  // The first one decides: those that follow only hasten the end.
  const int first = holding.load() ? first_signal.load() : 0;
  _exit(kSignalExit + (first == 0 ? signal : first));
}

}  // namespace

Interrupt::Interrupt() {
  noted.store(0);
  first_signal.store(0);
  holding.store(true);
}

Interrupt::~Interrupt() { holding.store(false); }

bool Interrupt::requested() const { return noted.load() > 0; }

RemovedOnInterrupt::RemovedOnInterrupt(std::string path)
    : entry_(new Entry{.path = std::move(path)}) {
  entry_->next = removed.load();
  while (!removed.compare_exchange_weak(entry_->next, entry_)) {
  }
}

RemovedOnInterrupt::~RemovedOnInterrupt() { entry_->exists.store(false); }

bool InterruptRequested() { return holding.load() && noted.load() > 0; }

int InterruptedExitCode() {
  const int signal = first_signal.load();
  return kSignalExit + (signal == 0 ? SIGINT : signal);
}

void SetLiveLinesAbove(int lines) { lines_above.store(lines); }

void InstallInterruptHandlers(bool live_line) {
  clear_line.store(live_line);
  struct sigaction action = {};
  action.sa_handler = Handle;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // nohup has it ignored.
  struct sigaction hangup = {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

}  // namespace edgekiln::client
