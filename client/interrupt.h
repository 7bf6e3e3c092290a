#ifndef EK_CLIENT_INTERRUPT_H_
#define EK_CLIENT_INTERRUPT_H_

// Ctrl-C, kill, and a terminal that is closed. Signal handlers are the one
// thing that is global here, because signals are.

#include <string>

namespace edgekiln::client {

// While an Interrupt lives, the first SIGINT, SIGTERM or SIGHUP is only noted,
// so that a job can be cancelled. A SIGINT or SIGTERM after it leaves the
// program at once, with the exit code of the first; a SIGHUP after it does
// nothing: a terminal that is closed sends two. At other times the first one
// leaves at once. One at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool requested() const;
};

// While it lives, a signal that leaves the program removes the file `path` if
// there is one. Thread-safe.
class RemovedOnInterrupt {
 public:
  explicit RemovedOnInterrupt(std::string path);
  ~RemovedOnInterrupt();
  RemovedOnInterrupt(const RemovedOnInterrupt&) = delete;
  RemovedOnInterrupt& operator=(const RemovedOnInterrupt&) = delete;

  struct Entry;

 private:
  Entry* const entry_;
};

// Whether the Interrupt that lives, if one does, has been requested.
bool InterruptRequested();

// The exit code of a command whose Interrupt was requested: 130 of SIGINT, 143
// of SIGTERM, 129 of SIGHUP; 130 also if none was, as where a job is cancelled
// elsewhere.
int InterruptedExitCode();

// Makes SIGINT, SIGTERM and SIGHUP leave with exit code 130, 143 and 129, after
// removing a live progress line from the terminal if there is one. A SIGHUP
// that is ignored (nohup) stays so. Call once, first.
void InstallInterruptHandlers(bool live_line);

// How many lines above that one are to be removed with it.
void SetLiveLinesAbove(int lines);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_INTERRUPT_H_
