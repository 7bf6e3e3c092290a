#ifndef EK_COMPILER_CODEGEN_C_IDENTIFIERS_H_
#define EK_COMPILER_CODEGEN_C_IDENTIFIERS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

// Names from a model as parts of C identifiers. Text from a model reaches C
// through these functions only.
//
// Thread-safe: pure functions.
namespace edgekiln::compiler {

// The prefix of a network: [a-z][a-z0-9_]*, at most 32 characters, never two
// underscores in a row, never the name of a standard header or of a file that a
// bundle has beside the network's.
std::string CPrefix(absl::string_view name);

// "<prefix>_layer_<index>_<id>", the id reduced to [a-z0-9_]. Unique by index.
std::string CLayerFunction(absl::string_view prefix, int64_t index,
                           absl::string_view id);

// For macros: upper case.
std::string CMacroPrefix(absl::string_view prefix);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_IDENTIFIERS_H_
