#ifndef EK_TESTS_BENCH_DIANA_PROGRAM_FIGURES_H_
#define EK_TESTS_BENCH_DIANA_PROGRAM_FIGURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"

// What the steps of a program take, by layer and by what it is spent on.
namespace edgekiln::bench {

// Cycles of a layer.
struct LayerFigures {
  std::string id;
  std::string op;
  bool on_array = false;
  bool depthwise = false;
  int64_t macs = 0;
  int64_t full = 0;       // Without `at_border`.
  int64_t block = 0;      // What the array computes, by its cost model.
  int64_t weights = 0;    // Bringing weights to its memory; of the analog
                          // array, all of a job.
  int64_t job = 0;        // What else a job takes until its end.
  int64_t loop = 0;       // The host's loops around jobs.
  int64_t transfers = 0;  // Between L2 and L1.
  int64_t relayout = 0;   // By the host's code.
  int64_t host_op = 0;
  int64_t at_border = 0;  // Relayout of the network's inputs and outputs.
  int64_t jobs = 0;
  int64_t moves = 0;  // Transfers, each with its set-up.
  int64_t peak() const { return full - loop - transfers; }
  // Without what the host's code rearranges: of a layer by itself.
  int64_t alone() const { return full - relayout; }
  // What the array itself does of that.
  int64_t array() const { return block + weights; }
};

struct ProgramFigures {
  std::vector<LayerFigures> layers;
  LayerFigures sum;
  int64_t depthwise_jobs = 0;
  int64_t encoded_bytes = 0;  // Of weights and biases that jobs read.
  int64_t l2_bytes = 0;       // Of constants and activations.
  int64_t macs_on_array = 0;
};

absl::StatusOr<v1::Program> ReadProgram(const std::string& path);

// `tile_cycles` is the parameter, the host's loop around a job.
absl::StatusOr<ProgramFigures> FiguresOf(const v1::Program& program,
                                         const v1::Machine& machine,
                                         int64_t tile_cycles);

}  // namespace edgekiln::bench

#endif  // EK_TESTS_BENCH_DIANA_PROGRAM_FIGURES_H_
