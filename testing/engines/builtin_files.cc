#include "target/builtin_files.h"

namespace edgekiln::target {
namespace {

// target/builtin_files.cc, and the tutorial's.
constexpr BuiltinFile kFiles[] = {
#include "target/builtin_data.inc"
#include "testing/engines/builtin_data.inc"
};

}  // namespace

absl::Span<const BuiltinFile> BuiltinFiles() { return kFiles; }

}  // namespace edgekiln::target
