#ifndef EK_COMPILER_CODEGEN_C_BUILTIN_KERNELS_H_
#define EK_COMPILER_CODEGEN_C_BUILTIN_KERNELS_H_

#include "absl/strings/string_view.h"

namespace edgekiln::compiler {

// kernels.txtpb, which is compiled in: a serialized v1::KernelLibrary, which is
// read in a tenth of the time that the text takes.
absl::string_view BuiltinKernels();

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_BUILTIN_KERNELS_H_
