#ifndef EK_COMPILER_CODEGEN_FIRMWARE_CHECK_FILES_H_
#define EK_COMPILER_CODEGEN_FIRMWARE_CHECK_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/c/c_sources.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/firmware.pb.h"

namespace edgekiln::compiler {

struct CheckOptions {
  int most_samples = 2;
  // A header, and a statement before the first inference; or none.
  std::string include = {};
  std::string start = {};
};

// `check.c`, which runs a network by its header, and `check_data.h`, which has
// two samples of seeded inputs and what the reference interpreter computes of
// them: one sample where they take more than 1 MiB or 2e9 operations, and above
// 16 MiB digests in `check.c` (large_check.h). Nothing above 256 MiB or 4e9
// operations, where the interpreter needs more than 1 GiB, and where the
// network computes nothing of such inputs, as they are not indices.
absl::StatusOr<std::vector<CFile>> CheckProgram(const Graph& graph,
                                                const CheckOptions& options);

// What comes beside the C files of a network, so that its user can build and
// check them: the program above and a `Makefile`. `paths`: of the source tree,
// which may have a target's own kernels (own_kernels.h).
absl::StatusOr<std::vector<CFile>> CheckFiles(
    const Graph& graph, v1::Processor processor,
    const std::vector<std::string>& paths = {});

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_FIRMWARE_CHECK_FILES_H_
