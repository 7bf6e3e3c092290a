#ifndef EK_TARGET_EXAMPLE_H_
#define EK_TARGET_EXAMPLE_H_

#include "absl/strings/string_view.h"

namespace edgekiln::target {

// For the fix of an error in a target file: the command that shows a valid one,
// of a chip whose host runs C if this one's does.
inline absl::string_view ShowsExample(bool has_firmware) {
  return has_firmware ? "`edgekiln targets show rv32imc`"
                      : "`edgekiln targets show dla`";
}

}  // namespace edgekiln::target

#endif  // EK_TARGET_EXAMPLE_H_
