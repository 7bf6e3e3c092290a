#ifndef EK_SIMFARM_CONFORMANCE_SUITE_H_
#define EK_SIMFARM_CONFORMANCE_SUITE_H_

// What every DLA simulator must pass, whoever wrote it.

#include <cstdint>
#include <functional>

#include "simfarm/conformance/dla_case.h"

namespace edgekiln::simfarm::conformance {

// Makes a model of a chip: called once per chip, then used for many programs.
using DlaModelFactory = std::function<DlaModel(const DlaChip& chip)>;

struct SuiteOptions {
  uint64_t seed = 1;
  int chips = 20;
  int programs_per_chip = 100;
  int commands = 6;
};

// Random programs: same values, cycles and owners as the naive model, on every
// program. Reports through GoogleTest; the first failure of a chip ends it.
void ExpectAgreesWithNaiveModel(const DlaModelFactory& factory,
                                const SuiteOptions& options);

// Flips single bits of random programs and of what they read. The model must
// refuse the mutant, or say of it exactly what the naive model says. Returns
// the share of mutants whose outcome differs from the original's or that were
// refused, in percent.
double ExpectNoticesMutations(const DlaModelFactory& factory,
                              const SuiteOptions& options);

}  // namespace edgekiln::simfarm::conformance

#endif  // EK_SIMFARM_CONFORMANCE_SUITE_H_
