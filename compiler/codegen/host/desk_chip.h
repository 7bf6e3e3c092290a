#ifndef EK_COMPILER_CODEGEN_HOST_DESK_CHIP_H_
#define EK_COMPILER_CODEGEN_HOST_DESK_CHIP_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/codegen/c/c_sources.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// The chip of `make check`, in the folder desk/: memories that are arrays,
// functional models of its engines, and the driver between them. None if an
// engine that the program uses has no model. `constants_bytes` is the size of
// constants.bin.
absl::StatusOr<std::vector<CFile>> DeskChip(const v1::Program& program,
                                            int64_t constants_bytes,
                                            const v1::Machine& machine,
                                            const std::string& prefix);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_HOST_DESK_CHIP_H_
