#ifndef EK_TESTS_CHAOS_ATTACK_PROCESS_H_
#define EK_TESTS_CHAOS_ATTACK_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tests/chaos/attacker.h"

namespace edgekiln::chaos {

// An attacker in a process of its own: this program again, as
// `attack NAME ...`.
class AttackProcess {
 public:
  // To be called by the main thread, which the process does not survive.
  // `target.folder` is made.
  static absl::StatusOr<std::unique_ptr<AttackProcess>> Start(
      const Attacker& attacker, const AttackTarget& target);
  ~AttackProcess();  // As Kill().
  AttackProcess(const AttackProcess&) = delete;
  AttackProcess& operator=(const AttackProcess&) = delete;

  const Attacker& attacker() const { return attacker_; }
  const Tally& tally() const { return *tally_; }
  pid_t process() const { return process_; }  // 0: not running.
  // False once it has ended by itself, which is a fault of the attacker.
  bool Runs();
  void Kill();

 private:
  explicit AttackProcess(const Attacker& attacker) : attacker_(attacker) {}

  const Attacker& attacker_;
  pid_t process_ = 0;  // 0: not running.
  Tally* tally_ = nullptr;
};

// The other end: what main() does in that process.
int RunAttackProcess(const Attacker& attacker, const AttackTarget& target);

}  // namespace edgekiln::chaos

#endif  // EK_TESTS_CHAOS_ATTACK_PROCESS_H_
