#ifndef EK_TESTS_CHIPS_CHIP_CASES_H_
#define EK_TESTS_CHIPS_CHIP_CASES_H_

// The chips that the suites of this folder run on. A new chip is a new row.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "base/rng.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/target.pb.h"
#include "gtest/gtest.h"
#include "simfarm/conformance/chip_suite.h"
#include "simfarm/conformance/program_case.h"
#include "simfarm/simulators/engine_stream.h"
#include "tests/pipeline/graph_builder.h"

namespace edgekiln::tests {

// Random networks of one kind, all layers of which the chip's engines take.
struct GraphKind {
  const char* name;
  uint64_t first_seed = 0;
  compiler::Graph (*make)(QuantizedGraphBuilder& builder);
  bool needs_host = false;  // It does a part of all of them.
};

// What the first engine of a random chip is told: machine code, or register
// writes, as the back end disassembles them.
struct RandomCode {
  v1::Machine machine;
  int64_t word_bytes = 0;
  std::function<std::string(Rng& rng)> next;
};

struct ChipCase {
  std::string name;
  // Built-in targets of the family. The first is a complete descriptor.
  std::vector<std::string> targets;

  // Command streams: the simulator, and the naive model of the chip's page.
  // Nothing of chips whose engines the host drives.
  simfarm::conformance::ChipSource random_models;
  std::function<bool(simfarm::CpuPath)> has_cpu_path;
  std::vector<simfarm::conformance::HandCounted> hand_counted;
  // Of single flipped bits; the rest changes nothing, which the naive model
  // confirms.
  double least_noticed_percent = 0;

  // Whole programs: the naive model of the chip's page. Nothing of chips with
  // command streams.
  simfarm::conformance::NaiveProgramModel naive_program;
  std::vector<simfarm::conformance::HandCountedProgram> hand_counted_programs;

  std::function<RandomCode(Rng& rng)> random_code;

  // Networks, on a chip with that many bytes in its engine's scratchpad.
  std::function<v1::ResolvedTarget(int64_t scratchpad_bytes)> target;
  std::function<v1::ResolvedTarget(Rng& rng, int64_t scratchpad_bytes)>
      random_target;
  // Any numbers that the descriptor allows: some networks fit, some do not.
  std::function<std::string(Rng& rng)> random_descriptor;
  std::vector<GraphKind> graphs;
  // What random networks must be like for the chip's engines; absent: anything.
  std::function<void(QuantizedGraphBuilder& builder)> arithmetic;
  bool rounds_half_even = false;    // Graphs come in both roundings.
  bool weight_zero_points = false;  // A third of them have some.
  int seeds = 40;                   // Of each kind, in the usual rounding ..
  int even_seeds = 20;              // .. and half to even, if it has that.
  int random_chips = 24;            // By random_descriptor, for each network.
  // Chips that hold each of the published networks, under shared models/.
  std::vector<v1::ResolvedTarget> roomy_targets;
  std::vector<std::string> networks;
};

// A builder of networks for the chip.
QuantizedGraphBuilder BuilderFor(const ChipCase& chip, uint64_t seed);

const std::vector<ChipCase>& ChipCases();

// For INSTANTIATE_TEST_SUITE_P: pointers into ChipCases().
std::vector<const ChipCase*> AllChips();
std::vector<const ChipCase*> ChipsWithStreams();
std::vector<const ChipCase*> ChipsDrivenByTheHost();
void PrintTo(const ChipCase* chip, std::ostream* out);

}  // namespace edgekiln::tests

#endif  // EK_TESTS_CHIPS_CHIP_CASES_H_
