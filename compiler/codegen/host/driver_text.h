#ifndef EK_COMPILER_CODEGEN_HOST_DRIVER_TEXT_H_
#define EK_COMPILER_CODEGEN_HOST_DRIVER_TEXT_H_

#include "absl/strings/string_view.h"

namespace edgekiln::compiler {

// edgekiln_driver.h of a bundle: what a firmware defines.
absl::string_view DriverText();
// desk/desk.h: what models of engines use of the chip of `make check`.
absl::string_view DeskText();

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_HOST_DRIVER_TEXT_H_
