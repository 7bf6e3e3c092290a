#ifndef EK_TARGET_BUILTIN_FILES_H_
#define EK_TARGET_BUILTIN_FILES_H_

#include "absl/types/span.h"

namespace edgekiln::target {

// A descriptor that is compiled in.
struct BuiltinFile {
  const char* name;  // Without ".txtpb".
  const char* text;
};

// Those of data/, in the order of target/CMakeLists.txt. Tests may link
// testing/engines/builtin_files.cc instead, which lists more.
absl::Span<const BuiltinFile> BuiltinFiles();

}  // namespace edgekiln::target

#endif  // EK_TARGET_BUILTIN_FILES_H_
