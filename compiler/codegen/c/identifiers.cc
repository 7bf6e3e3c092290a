#include "compiler/codegen/c/identifiers.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/c_name.h"

namespace edgekiln::compiler {

std::string CPrefix(absl::string_view name) { return CNameOf(name); }

std::string CLayerFunction(absl::string_view prefix, int64_t index,
                           absl::string_view id) {
  const std::string readable = CPart(id);
  return absl::StrCat(prefix, "_layer_", index, readable.empty() ? "" : "_",
                      readable);
}

std::string CMacroPrefix(absl::string_view prefix) {
  return absl::AsciiStrToUpper(prefix);
}

}  // namespace edgekiln::compiler
