#ifndef EK_TARGET_NEED_TEXT_H_
#define EK_TARGET_NEED_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace edgekiln::target {

// The `need` of a condition (OpPattern.Condition) with each expression in
// braces replaced by what `value_of` gives for it. INVALID_ARGUMENT, at
// `where`, if braces do not pair off or it is more than half a sentence.
absl::StatusOr<std::string> NeedText(
    absl::string_view need,
    absl::FunctionRef<absl::StatusOr<int64_t>(absl::string_view expression)>
        value_of,
    const std::string& where);

}  // namespace edgekiln::target

#endif  // EK_TARGET_NEED_TEXT_H_
