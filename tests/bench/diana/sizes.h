#ifndef EK_TESTS_BENCH_DIANA_SIZES_H_
#define EK_TESTS_BENCH_DIANA_SIZES_H_

#include "absl/status/status.h"
#include "tests/bench/diana/compile.h"

namespace edgekiln::bench {

// Prints, for each network, encoded weights beside the published ones, and the
// host's code beside that of HTVM: the C of the bundle, built by
// riscv64-unknown-elf-gcc for rv32imc with a driver of stores, loads and
// transfers, what is not used left out. Then how much smaller the binary of
// ResNet is than that for the host alone.
absl::Status PrintSizes(const DianaCompiler& compiler);

}  // namespace edgekiln::bench

#endif  // EK_TESTS_BENCH_DIANA_SIZES_H_
