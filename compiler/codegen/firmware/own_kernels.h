#ifndef EK_COMPILER_CODEGEN_FIRMWARE_OWN_KERNELS_H_
#define EK_COMPILER_CODEGEN_FIRMWARE_OWN_KERNELS_H_

// Functions that layers call and edgekiln does not make: those of a target's
// own kernels, and where their sources lie in a source tree.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace edgekiln::compiler {

// The folder that has the target's sources, with the paths that it gives them.
inline constexpr char kOwnFolder[] = "kernels";
// Tells which layers call them; there if any layer does.
inline constexpr char kOwnKernelsFile[] = "KERNELS.txt";

std::string OwnPath(absl::string_view path);
bool IsOwnPath(absl::string_view path);

// The folders of all of a target's headers in a tree of files, and those above
// them, rising: what a compiler searches, so that a header is found by any end
// of its path.
std::vector<std::string> OwnIncludeFolders(
    const std::vector<std::string>& paths);

struct OwnCall {
  std::string layer;
  std::string function;
  std::string header;
};

// The text of kOwnKernelsFile. `has_sources`: the tree has what to compile.
std::string OwnKernelsText(const std::vector<OwnCall>& calls, bool has_sources);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_FIRMWARE_OWN_KERNELS_H_
