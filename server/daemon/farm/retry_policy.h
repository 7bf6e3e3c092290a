#ifndef EK_SERVER_DAEMON_FARM_RETRY_POLICY_H_
#define EK_SERVER_DAEMON_FARM_RETRY_POLICY_H_

// What follows from the failures of a lease: which of them the stage and its
// inputs will repeat, and which are of a machine, a network or a full disk.

#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "edgekiln/v1/error.pb.h"

namespace edgekiln::server {

enum class FailureKind {
  // Time-out of a stage or of a compiler, or a crash that nobody outside has
  // caused.
  kDeterministic,
  kMachine,   // Killed from outside, or no memory or processor was free.
  kDiskFull,  // Outputs had no room.
  kOther,     // Any other failure of ours.
};

// Of an infra_error as a worker tells it.
FailureKind KindOf(const v1::ErrorDetail& error);

// How a worker was lost that held a lease.
enum class Loss {
  kAlone,      // It held no other.
  kInCompany,  // It held others, any of which may be the cause.
  kInnocent,   // It is known that another was the cause.
};

struct RetryLimits {
  // Time-outs, or crashes of one signal, until the input is quarantined: the
  // stage will repeat them.
  int identical = 2;
  int other = 3;    // Other failures on our side: given up.
  int machine = 6;  // Lost workers and machines without memory: given up.
  // Workers lost while they held this lease alone, each after about as long,
  // and no other lease was lost meanwhile: quarantined. One more than two, as
  // a worker may be killed twice by chance while a long stage runs.
  int lost_alone = 3;
  // Workers lost with others, until the lease is given to one by itself, so
  // that it shows which one it is.
  int lost_in_company = 2;
  // Waits for room on a disk, doubled each time.
  absl::Duration first_disk_wait = absl::Seconds(1);
  absl::Duration last_disk_wait = absl::Seconds(30);
};

// The failures of one lease. Thread-compatible.
class RetryRecord {
 public:
  struct Verdict {
    enum What {
      kRetry,
      kWait,  // Retry after `wait`.
      kGiveUp,
      kQuarantine,  // Given up, and nobody should try again.
    };
    What what = kRetry;
    absl::Duration wait{};
    int failures = 0;  // Of the kind that decided.
  };

  // The worker lives and says what happened.
  Verdict OnError(const v1::ErrorDetail& error, const RetryLimits& limits);
  // The worker was lost. `others` is the number of leases that the farm has
  // lost so far, of workers that did not hold this one.
  Verdict OnLoss(Loss loss, absl::Duration ran, int64_t others,
                 const RetryLimits& limits);

  // Whether the next attempt should have a worker to itself.
  bool WantsToBeAlone(const RetryLimits& limits) const {
    return lost_in_company_ >= limits.lost_in_company;
  }
  bool any() const { return any_; }

 private:
  Verdict CountMachine(const RetryLimits& limits);

  bool any_ = false;
  std::map<std::string, int> identical_;  // By what they have in common.
  int other_ = 0;
  int machine_ = 0;
  int disk_full_ = 0;  // In a row.
  int lost_in_company_ = 0;
  int lost_alone_ = 0;  // In a row, each after about as long.
  absl::Duration lost_after_;
  int64_t lost_others_ = 0;
};

// The error of a stage that is given up after `failures` of that kind. Keeps
// reason, limit and fix of the last one.
absl::Status StageGivenUp(const std::string& stage, int failures,
                          const absl::Status& last);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_FARM_RETRY_POLICY_H_
