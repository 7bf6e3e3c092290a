#ifndef EK_BASE_SOURCE_PATH_H_
#define EK_BASE_SOURCE_PATH_H_

#include "absl/strings/string_view.h"

namespace edgekiln {

// Whether it can be the path of a C file that strangers name: relative, of
// letters, digits, "._-" and "/", and of no component that is empty or begins
// with "." or "-". It is no option of a compiler and leaves no folder.
bool IsSourcePath(absl::string_view path);

}  // namespace edgekiln

#endif  // EK_BASE_SOURCE_PATH_H_
