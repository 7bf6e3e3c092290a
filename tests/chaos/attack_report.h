#ifndef EK_TESTS_CHAOS_ATTACK_REPORT_H_
#define EK_TESTS_CHAOS_ATTACK_REPORT_H_

#include <string>

#include "tests/chaos/attack_suite.h"

namespace edgekiln::chaos {

// For people: what became of honest jobs, of the daemon, of each attacker, and
// each check.
std::string AttackTable(const AttackResult& result);

// The same for programs; one object.
std::string AttackJson(const AttackOptions& options,
                       const AttackResult& result);

}  // namespace edgekiln::chaos

#endif  // EK_TESTS_CHAOS_ATTACK_REPORT_H_
