#ifndef EK_TESTS_BENCH_DIANA_LAYERS_H_
#define EK_TESTS_BENCH_DIANA_LAYERS_H_

#include "absl/status/status.h"
#include "tests/bench/diana/compile.h"

namespace edgekiln::bench {

// Fig. 5 by geometry: single layers of many sizes by recipe htvm, and what
// transfers and the host take of the array's throughput, beside its four
// statements. Which sizes the figure has is not published.
absl::Status PrintLayers(const DianaCompiler& compiler);

}  // namespace edgekiln::bench

#endif  // EK_TESTS_BENCH_DIANA_LAYERS_H_
