#ifndef EK_SIMFARM_CONFORMANCE_PROGRAM_CASE_H_
#define EK_SIMFARM_CONFORMANCE_PROGRAM_CASE_H_

// A whole program with its inputs, and the outcome of one inference: what
// sessions and naive models are compared on, for chips whose engines the host
// drives.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "simfarm/session/session.h"

namespace edgekiln::simfarm::conformance {

struct ProgramCase {
  v1::Program program;
  std::string constants;
  v1::Machine machine;
  SessionOptions options;
  std::vector<std::string> inputs;  // One dense value for each.
};

struct ProgramOutcome {
  // Not empty: the program was refused, and nothing below is set.
  std::string error;
  // Some job takes too long for the naive model: nothing below is set.
  bool too_long = false;
  int64_t cycles = 0;
  std::vector<int64_t> layer_cycles;
  std::vector<int64_t> busy_cycles;  // Of the engines, then the host.
  int64_t bytes_read = 0;            // By links, of the host's memories.
  int64_t bytes_written = 0;
  std::vector<std::string> taps;  // As listed in the program.
  std::vector<std::string> outputs;
};

// "" if both outcomes are the same (two refusals are, whatever they say), else
// the first difference.
std::string FirstDifference(const ProgramOutcome& a, const ProgramOutcome& b);

// Runs a session three ways, which must agree (GoogleTest): cycles only, with
// checks, and fast.
ProgramOutcome RunSession(const ProgramCase& program);

// What a step did, as the naive model saw it. Bytes are of memory * 2^40 +
// address, sorted.
struct StepTrace {
  // The engine that the step writes to or polls, or in whose window it moves.
  int32_t engine = -1;
  bool polls = false;
  std::vector<uint64_t> reads;
  std::vector<uint64_t> writes;
};

// A chip's naive model; it detects races and undefined bytes. Fills `trace`,
// which may be null, with the steps that it executed.
using NaiveProgramModel = std::function<ProgramOutcome(
    const ProgramCase& program, std::vector<StepTrace>* trace)>;

// A program whose outcome was worked out by hand, from the pages in docs/
// alone.
struct HandCountedProgram {
  std::string name;
  ProgramCase program;
  ProgramOutcome outcome;
};

}  // namespace edgekiln::simfarm::conformance

#endif  // EK_SIMFARM_CONFORMANCE_PROGRAM_CASE_H_
