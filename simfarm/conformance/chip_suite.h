#ifndef EK_SIMFARM_CONFORMANCE_CHIP_SUITE_H_
#define EK_SIMFARM_CONFORMANCE_CHIP_SUITE_H_

// What the simulator of every engine must pass. An engine brings chips of its
// own, programs for them, and a naive model written from its page alone.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/rng.h"
#include "edgekiln/v1/target.pb.h"
#include "simfarm/conformance/stream_case.h"
#include "simfarm/simulators/engine_stream.h"

namespace edgekiln::simfarm::conformance {

// What the machine must have for a path, as /proc/cpuinfo has it: "avx2";
// "portable" if nothing.
std::string InstructionsOf(CpuPath path);

// One chip, in the two models that must agree.
class ChipModels {
 public:
  virtual ~ChipModels() = default;

  // The machine that is simulated; programs are for its first engine.
  virtual const v1::Machine& machine() const = 0;
  // A program of about `commands` commands that keeps every rule.
  virtual StreamProgram RandomProgram(int commands, Rng& rng) const = 0;
  // Lets one cycle pass after the other. It may take races, undefined bytes and
  // unusable values for legal.
  virtual StreamOutcome RunNaive(const StreamProgram& program) const = 0;
  // The simulator, loaded anew: a run with checks, one without values and fast
  // ones, which must agree.
  virtual StreamOutcome RunSimulator(const StreamProgram& program,
                                     CpuPath path) const = 0;
};

// A random chip of one engine model.
using ChipSource = std::function<std::unique_ptr<ChipModels>(Rng& rng)>;

struct SuiteOptions {
  uint64_t seed = 1;
  int chips = 20;
  int programs_per_chip = 100;
  int commands = 6;
  CpuPath path = CpuPath::kBest;
};

// Random programs: same values, cycles and owners as the naive model, on every
// program. Reports through GoogleTest; the first failure of a chip ends it.
void ExpectAgreesWithNaiveModel(const ChipSource& source,
                                const SuiteOptions& options);

// Flips single bits of random programs and of what they read. The simulator
// must refuse the mutant, or say of it exactly what the naive model says.
// Returns the share of mutants whose outcome differs from the original's or
// that were refused, in percent.
double ExpectNoticesMutations(const ChipSource& source,
                              const SuiteOptions& options);

// A program whose cycles were counted by hand, from the engine's page.
struct HandCounted {
  std::string name;
  std::function<std::unique_ptr<ChipModels>()> chip;
  StreamProgram program;
  int64_t cycles = 0;
  int64_t busy_cycles = 0;
  std::map<int32_t, OwnedCycles> owned;
};
// Both models agree with the hand.
void ExpectHandCounted(const HandCounted& counted);

}  // namespace edgekiln::simfarm::conformance

#endif  // EK_SIMFARM_CONFORMANCE_CHIP_SUITE_H_
