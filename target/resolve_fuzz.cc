// Any bytes as a target file give a target or an error. Half of the inputs are
// spliced into a valid file, so that validation is reached and not only the
// parser.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "target/builtin.h"
#include "target/resolve.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view input(reinterpret_cast<const char*>(data), size);
  (void)edgekiln::target::ResolveTarget(input);
  if (size < 4) return 0;
  std::string text = edgekiln::target::BuiltinTargets().front().text;
  const size_t at = (data[0] | data[1] << 8) % text.size();
  text.replace(at, data[2], std::string(input.substr(3)));
  (void)edgekiln::target::ResolveTarget(text);
  // Inside a pattern, whose expressions are compiled.
  std::string patterned = edgekiln::target::BuiltinTargets().front().text;
  const std::string pattern = "  patterns {\n";
  patterned.insert(patterned.find(pattern) + pattern.size(),
                   std::string(input));
  (void)edgekiln::target::ResolveTarget(patterned);
  // Inside a recipe, which holds a message of an engine's model.
  (void)edgekiln::target::ResolveTarget(
      absl::StrCat("recipes { name: \"r\" doc: \"R.\" ", input, " }\n",
                   edgekiln::target::BuiltinTargets().front().text));
  return 0;
}
