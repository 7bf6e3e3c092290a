#ifndef EK_COMPILER_IR_SAME_VALUES_H_
#define EK_COMPILER_IR_SAME_VALUES_H_

// When two values are the same, to the bit: docs/numerics.md, "Equal values". A
// NaN is one value, whatever its sign and its payload: which of them an
// operation gives differs between processors.

#include <string>

#include "absl/strings/string_view.h"
#include "edgekiln/v1/data.pb.h"

namespace edgekiln::compiler {

// Whether dense values of that type are the same. False for other sizes, and
// for sizes that are no number of values.
bool SameValues(v1::ElementType type, absl::string_view a, absl::string_view b);

// The values with one and the same NaN for each: `values` themselves where
// there is none, else what is put into `room`. Equal for the same values.
absl::string_view WithOneNan(v1::ElementType type, absl::string_view values,
                             std::string& room);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_IR_SAME_VALUES_H_
