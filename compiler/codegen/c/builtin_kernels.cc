#include "compiler/codegen/c/builtin_kernels.h"

namespace edgekiln::compiler {
namespace {

constexpr unsigned char kBytes[] = {
#include "compiler/codegen/c/builtin_kernels.inc"
};

}  // namespace

absl::string_view BuiltinKernels() {
  return {reinterpret_cast<const char*>(kBytes), sizeof(kBytes)};
}

}  // namespace edgekiln::compiler
