#ifndef EK_TARGET_RESOLVE_H_
#define EK_TARGET_RESOLVE_H_

// From the text of a target file to what stages are handed.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::target {

inline constexpr int kMaxDescriptorBytes = 1 << 20;

// Reads a TargetDescriptor in text form. The schema is closed: an unknown key
// is an error that names line, key and the nearest known key. `text` is
// hostile; INVALID_ARGUMENT.
absl::StatusOr<v1::TargetDescriptor> ParseDescriptor(absl::string_view text);

// ParseDescriptor(), `extends` (a name of BuiltinTargets(); one level), `set`,
// and validation of everything: ranges and constraints of parameters, unique
// names, expressions, memories, engines, instruction set, host costs. The
// result holds no prose and no provenance, and equal chips give equal bytes
// under deterministic serialization. INVALID_ARGUMENT names the key.
absl::StatusOr<v1::ResolvedTarget> ResolveTarget(absl::string_view text);

// The same, with the files of data/ that the result is made of besides: those
// that it extends.
struct TargetAndFiles {
  v1::ResolvedTarget target;
  std::vector<std::string> files;  // BuiltinTarget.file.
};
absl::StatusOr<TargetAndFiles> ResolveTargetAndFiles(absl::string_view text);

}  // namespace edgekiln::target

#endif  // EK_TARGET_RESOLVE_H_
