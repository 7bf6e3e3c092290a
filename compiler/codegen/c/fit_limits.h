#ifndef EK_COMPILER_CODEGEN_C_FIT_LIMITS_H_
#define EK_COMPILER_CODEGEN_C_FIT_LIMITS_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/codegen/c/network.h"

// Which kernels layers get where flash or RAM is limited: a knapsack over
// layers, by estimates.
namespace edgekiln::compiler {

// What a network with these recipes takes; MeasureNetwork().
using Measure =
    absl::FunctionRef<absl::StatusOr<NetworkNeed>(const Recipes& recipes)>;

struct Limits {
  int64_t flash_bytes = 0;  // 0: none.
  int64_t ram_bytes = 0;
  int64_t code_allowance_percent = 0;  // As in COptions.
};

// Constants and code, which may be larger than estimated.
int64_t FlashOf(const CManifest& manifest, int64_t code_allowance_percent);

// The choice, and what it takes.
struct Fitting {
  Recipes recipes;
  NetworkNeed need;
};

// The fastest kernels that keep the limits, of those of kDefault, kSize and
// kPlain. A layer that alone needs too much RAM gets the fastest one that does
// not; of the others, those become smaller first that lose the fewest
// instructions per byte. Where nothing keeps them, the one with the least flash
// of those that keep the limit of RAM, or of all.
// `kinds`: a number per layer, the same where layers share functions.
absl::StatusOr<Fitting> FitLimits(absl::Span<const int> kinds,
                                  const Limits& limits, Measure measure);

// The same kernels with the least flash, whatever its limit; the RAM of
// `limits` counts.
absl::StatusOr<Fitting> Smallest(absl::Span<const int> kinds,
                                 const Limits& limits, Measure measure);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_FIT_LIMITS_H_
