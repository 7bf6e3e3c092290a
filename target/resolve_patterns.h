#ifndef EK_TARGET_RESOLVE_PATTERNS_H_
#define EK_TARGET_RESOLVE_PATTERNS_H_

// Resolves the patterns of a descriptor to those that partitioning gets.

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "edgekiln/v1/target.pb.h"
#include "target/expression.h"

namespace edgekiln::target {

using Patterns = google::protobuf::RepeatedPtrField<v1::OpPattern>;

// The patterns whose when_expr is not 0, with `parameters` replaced by their
// values, and with the conditions that the engine at position `engine` of
// `machine` implies. INVALID_ARGUMENT names pattern and key.
absl::StatusOr<Patterns> ResolvePatterns(Patterns patterns,
                                         absl::Span<const Constant> parameters,
                                         const v1::Machine& machine,
                                         int32_t engine);

}  // namespace edgekiln::target

#endif  // EK_TARGET_RESOLVE_PATTERNS_H_
