#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_TESTING_TOY_MACHINE_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_TESTING_TOY_MACHINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/engines/backend.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/target.pb.h"
#include "edgekiln/v1/tiling.pb.h"

// For tests: a machine with one engine, and networks of one op.
namespace edgekiln::compiler::register_job {

inline constexpr int32_t kFlash = 0;
inline constexpr int32_t kRam = 1;
inline constexpr int32_t kTiles = 2;

// One register for each variable, of its name. Channels lie in blocks of
// `block`: NC[H][W]c, weights alike by output channels. 8 bytes a cycle, 16
// cycles of set-up and 4 counters for moves; 64 products a cycle.
v1::Machine ToyMachine(int64_t block, int64_t tile_bytes);

struct OpSpec {
  std::string name;
  // "conv2d", "depthwise_conv2d", "fully_connected", "add", "average_pool2d",
  // "max_pool2d", "requantize".
  std::string kind;
  int64_t h = 1;
  int64_t w = 1;
  int64_t c = 1;
  int64_t out_c = 1;
  int64_t kernel_h = 1;
  int64_t kernel_w = 1;
  int32_t stride = 1;
  int32_t dilation = 1;
  int32_t pad = 0;  // On all sides.
  bool int32_output = false;
  bool half_even = false;
};

// Constants are random, but always the same.
Graph GraphOf(const OpSpec& spec);

// Which borders stay in the engine's memory.
struct Stays {
  bool inputs = false;
  bool output = false;
  // All borders, there or in system memory, with channels outermost.
  bool channels_first = false;
};

// With so much of the engine's memory.
Budget BudgetOf(const Region& region, const v1::Machine& machine,
                int64_t tile_bytes, Stays stays);
absl::StatusOr<v1::RegionPlan> PlanOf(const Region& region,
                                      const v1::Machine& machine,
                                      int64_t tile_bytes, Stays stays);

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_TESTING_TOY_MACHINE_H_
