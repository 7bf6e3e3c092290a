#ifndef EK_COMPILER_CODEGEN_FIRMWARE_INDIRECT_JUMPS_H_
#define EK_COMPILER_CODEGEN_FIRMWARE_INDIRECT_JUMPS_H_

#include <cstddef>
#include <set>

#include "absl/strings/string_view.h"

namespace edgekiln::compiler {

// Whether code of RV32IMFC jumps to an address that a register holds. Returns
// do not count, nor do the jumps at `linked`: their address is known to the
// linker. True for code that ends within an instruction.
bool RiscvJumpsIndirectly(absl::string_view code,
                          const std::set<size_t>& linked);

// The same of Thumb code without the data between it. A table branch stays in
// its function and does not count.
bool ThumbJumpsIndirectly(absl::string_view code);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_FIRMWARE_INDIRECT_JUMPS_H_
