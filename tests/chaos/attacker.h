#ifndef EK_TESTS_CHAOS_ATTACKER_H_
#define EK_TESTS_CHAOS_ATTACKER_H_

// Attackers: each uses up one kind of resource of a daemon and its workers,
// with nothing but their addresses. One runs in a process of its own, so that
// what it does to itself harms nobody, and ends by being killed, without a
// farewell to the daemon.

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/rng.h"

namespace edgekiln::chaos {

// What an attacker has done so far. Lies in memory that the attacker's process
// and the suite share.
struct Tally {
  std::atomic<int64_t> actions;
  // Answered with an error that says why.
  std::atomic<int64_t> refusals;
  // No answer at all: connection refused, cut, or too late.
  std::atomic<int64_t> unanswered;
  // What the attacker must never get: results taken, secrets told.
  std::atomic<int64_t> breaches;
};

struct AttackTarget {
  std::string address;          // Of the daemon, for clients.
  std::string workers_address;  // Of the daemon, for workers.
  std::string http_address;     // Of the daemon, for people with curl.
  std::string folder;           // Of the attacker's own files; exists.
  uint64_t seed = 1;
};

// One run of one attacker. Thread-safe but for rng().
class Attack {
 public:
  Attack(AttackTarget target, Tally& tally);

  const AttackTarget& target() const { return target_; }
  Rng& rng() { return rng_; }
  // Counts an action by how it was answered.
  void Count(const absl::Status& status);
  void CountSilent() { ++tally_.actions; }  // Nothing is to be answered.
  void CountBreach() { ++tally_.breaches; }
  static void Pause(absl::Duration duration);

 private:
  const AttackTarget target_;
  Tally& tally_;
  Rng rng_;
};

struct Attacker {
  absl::string_view name;
  absl::string_view does;       // For --help.
  void (*run)(Attack& attack);  // Until the process is killed.
};

const std::vector<Attacker>& Attackers();

// Null if there is none of that name.
const Attacker* FindAttacker(absl::string_view name);

// Each in a file of its own.
void AttackConnections(Attack& attack);
void AttackDescriptions(Attack& attack);
void AttackHttp(Attack& attack);
void AttackTargets(Attack& attack);
void AttackRequests(Attack& attack);
void AttackUploads(Attack& attack);
void AttackModels(Attack& attack);
void AttackMemory(Attack& attack);
void AttackWorkers(Attack& attack);

}  // namespace edgekiln::chaos

#endif  // EK_TESTS_CHAOS_ATTACKER_H_
