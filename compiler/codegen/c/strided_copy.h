#ifndef EK_COMPILER_CODEGEN_C_STRIDED_COPY_H_
#define EK_COMPILER_CODEGEN_C_STRIDED_COPY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/codegen/c/c_text.h"
#include "ops/strided_copy.h"

namespace edgekiln::compiler {

// Loops that write to `to`, one after the other, the elements that `loops`
// (outermost first) visit from element `first` of `from` on. Loops that walk
// the same memory in the same order are joined.
void EmitStridedCopy(CodeWriter& code, const std::string& from, int64_t first,
                     std::vector<ops::StridedLoop> loops,
                     const std::string& to);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_STRIDED_COPY_H_
