#ifndef EK_COMPILER_CODEGEN_BUNDLE_H_
#define EK_COMPILER_CODEGEN_BUNDLE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "edgekiln/v1/graph.pb.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

struct BundleFile {
  std::string path;  // Relative, forward slashes.
  std::string bytes;
};

// What the manifest says a bundle was made from, and by whom.
struct BundleOrigin {
  std::string model_name;
  std::string target_name;
  std::string recipe_name;
  Digest model;         // The model file.
  Digest target;        // The descriptor, as the user gave it.
  Digest machine;       // The descriptor resolved: equal chips, equal digests.
  std::string version;  // Of edgekiln.
};

// What `compile -o DIR` writes, in order of path: the program, each command
// stream with its disassembly, the flash content (of firmware, the ELF file;
// none without a compiler), a readable memory map, `network_document` (none if
// it is empty), `more`, and a manifest with the digest of every file. Map and
// manifest tell of each input and output where it lies, how it is quantized,
// and what the caller converts from and to: `graph` is what the program was
// made of. Same arguments, same bytes.
absl::StatusOr<std::vector<BundleFile>> BundleFiles(
    const v1::Program& program, const v1::Graph& graph,
    absl::string_view constants, const v1::Machine& machine,
    const BundleOrigin& origin, std::string network_document = "",
    std::vector<BundleFile> more = {});

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_BUNDLE_H_
