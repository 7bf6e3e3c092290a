#ifndef EK_COMPILER_CODEGEN_BUNDLE_HEADER_H_
#define EK_COMPILER_CODEGEN_BUNDLE_HEADER_H_

#include <string>

#include "absl/strings/string_view.h"
#include "compiler/codegen/bundle.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// edgekiln_model.h of a bundle, C99 and C++: where everything lies, how large
// it is, and the steps of an inference, as lists that take a macro for each of
// their entries (docs/bundle.md). Names are in strings only, so that whatever a
// model calls its tensors, the file compiles. All inputs and outputs are dense.
std::string BundleHeader(const v1::Program& program,
                         absl::string_view constants,
                         const v1::Machine& machine,
                         const BundleOrigin& origin);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_BUNDLE_HEADER_H_
