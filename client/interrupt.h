#ifndef EK_CLIENT_INTERRUPT_H_
#define EK_CLIENT_INTERRUPT_H_

// Ctrl-C, and kill. Signal handlers are the one thing that is global here,
// because signals are.

#include <string>

namespace edgekiln::client {

// While an Interrupt lives, the first SIGINT or SIGTERM is only noted, so that
// a job can be cancelled; the second leaves the program at once. At other times
// the first one leaves at once. One at a time.
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
// of SIGTERM; 130 also if none was, as where a job is cancelled elsewhere.
int InterruptedExitCode();

// Makes SIGINT and SIGTERM leave with exit code 130 and 143, after removing a
// live progress line from the terminal if there is one. Call once, first.
void InstallInterruptHandlers(bool live_line);

// How many lines above that one are to be removed with it.
void SetLiveLinesAbove(int lines);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_INTERRUPT_H_
