#ifndef EK_SIMFARM_CONFORMANCE_DLA_DLA_MODELS_H_
#define EK_SIMFARM_CONFORMANCE_DLA_DLA_MODELS_H_

// The DLA of simfarm/simulators/dla and the naive one, as the suites want them.

#include <memory>

#include "base/rng.h"
#include "simfarm/conformance/chip_suite.h"
#include "simfarm/conformance/dla/dla_case.h"

namespace edgekiln::simfarm::conformance::dla {

// The built-in descriptor with the chip's numbers set.
std::unique_ptr<ChipModels> NewDlaModels(const DlaChip& chip);
// RandomChip(), as a ChipSource.
std::unique_ptr<ChipModels> NewRandomDlaModels(Rng& rng);

}  // namespace edgekiln::simfarm::conformance::dla

#endif  // EK_SIMFARM_CONFORMANCE_DLA_DLA_MODELS_H_
