#include "target/builtin_files.h"

namespace edgekiln::target {
namespace {

constexpr BuiltinFile kFiles[] = {
#include "target/builtin_data.inc"
};

}  // namespace

absl::Span<const BuiltinFile> BuiltinFiles() { return kFiles; }

}  // namespace edgekiln::target
