#include "tests/chaos/attacker.h"

#include <utility>

#include "absl/time/clock.h"
#include "base/error.h"

namespace edgekiln::chaos {

Attack::Attack(AttackTarget target, Tally& tally)
    : target_(std::move(target)), tally_(tally), rng_(target_.seed) {}

void Attack::Count(const absl::Status& status) {
  ++tally_.actions;
  if (status.ok()) return;
  if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
      absl::IsCancelled(status)) {
    // A refusal comes with its reason even where its code is UNAVAILABLE.
    ++(GetErrorDetail(status).has_value() ? tally_.refusals
                                          : tally_.unanswered);
    return;
  }
  ++tally_.refusals;
}

void Attack::Pause(absl::Duration duration) { absl::SleepFor(duration); }

const std::vector<Attacker>& Attackers() {
  static const auto& attackers = *new std::vector<Attacker>{
      {"connections",
       "plain connections beyond the limit, half-open HTTP/2, slow readers",
       AttackConnections},
      {"descriptions", "models whose descriptions are larger than a message",
       AttackDescriptions},
      {"http", "endless headers, hard bodies and unread answers over HTTP",
       AttackHttp},
      {"targets", "jobs with 256 targets, thousands of watchers",
       AttackTargets},
      {"requests", "huge fields, ListJobs storms, many queued jobs",
       AttackRequests},
      {"uploads", "abandoned, oversized and trickling uploads", AttackUploads},
      {"models", "models that time out, recurse or ask for too much",
       AttackModels},
      {"memory", "npz bombs and networks of 30 000 tiny layers", AttackMemory},
      {"workers", "false workers: no secret, no hello, forged results",
       AttackWorkers},
  };
  return attackers;
}

const Attacker* FindAttacker(absl::string_view name) {
  for (const Attacker& attacker : Attackers()) {
    if (attacker.name == name) return &attacker;
  }
  return nullptr;
}

}  // namespace edgekiln::chaos
