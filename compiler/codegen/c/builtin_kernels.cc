#include "compiler/codegen/c/builtin_kernels.h"

namespace edgekiln::compiler {
namespace {

struct Part {
  const char* name;
  const char* text;
};

constexpr Part kParts[] = {
#include "compiler/codegen/c/builtin_kernels.inc"
};

}  // namespace

absl::string_view BuiltinKernels() { return kParts[0].text; }

}  // namespace edgekiln::compiler
