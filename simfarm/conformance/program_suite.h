#ifndef EK_SIMFARM_CONFORMANCE_PROGRAM_SUITE_H_
#define EK_SIMFARM_CONFORMANCE_PROGRAM_SUITE_H_

// Tests that every chip with host-driven engines must pass: whole programs,
// compared with the chip's naive model. Reports through GoogleTest.

#include "base/rng.h"
#include "simfarm/conformance/program_case.h"

namespace edgekiln::simfarm::conformance {

// Session and naive model give the same values, cycles and layers of cycles.
void ExpectAgrees(const ProgramCase& program, const NaiveProgramModel& naive);

// Session and naive model give the outcome worked out by hand.
void ExpectHandCounted(const HandCountedProgram& counted,
                       const NaiveProgramModel& naive);

struct MutationCounts {
  int mutants = 0;
  int refused = 0;
  int changed = 0;   // Ran, with another outcome than the original.
  int too_long = 0;  // For the naive model: not compared.
};
// Flips a bit of a register write, of a record, of the constants (weights,
// biases and tables), of a move or of a poll, `mutants` times. Both models must
// refuse the mutant, or give the same outcome.
void ExpectNoticesMutations(const ProgramCase& program,
                            const NaiveProgramModel& naive, int mutants,
                            Rng& rng, MutationCounts* counts);

struct OrderCounts {
  int legal = 0;  // Orders that keep every dependency.
  // Illegal orders: races, undefined reads, misused registers.
  int refused = 0;
  int changed = 0;   // Illegal orders that run, with another outcome.
  int the_same = 0;  // Illegal orders that run, with the same outcome.
};
// Permutes the steps. Orders that keep all dependencies must give the
// original's values. For any other, session and naive model must agree: both
// refuse it, or both give the same values and cycles.
void ExpectOrdersAgree(const ProgramCase& program,
                       const NaiveProgramModel& naive, int orders, Rng& rng,
                       OrderCounts* counts);

}  // namespace edgekiln::simfarm::conformance

#endif  // EK_SIMFARM_CONFORMANCE_PROGRAM_SUITE_H_
