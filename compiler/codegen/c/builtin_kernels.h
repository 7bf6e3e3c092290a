#ifndef EK_COMPILER_CODEGEN_C_BUILTIN_KERNELS_H_
#define EK_COMPILER_CODEGEN_C_BUILTIN_KERNELS_H_

#include "absl/strings/string_view.h"

namespace edgekiln::compiler {

// kernels.txtpb, which is compiled in.
absl::string_view BuiltinKernels();

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_BUILTIN_KERNELS_H_
