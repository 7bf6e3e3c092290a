#ifndef EK_COMPILER_FRONTEND_TFLITE_REPLACEMENTS_H_
#define EK_COMPILER_FRONTEND_TFLITE_REPLACEMENTS_H_

#include "absl/strings/string_view.h"

namespace edgekiln::compiler::tflite_import {

// What to use instead of an operator that has no converter; "" if there is
// nothing to say. `name` as TfliteModelReader::NameOf() gives it.
absl::string_view FindReplacement(absl::string_view name, bool custom);

}  // namespace edgekiln::compiler::tflite_import

#endif  // EK_COMPILER_FRONTEND_TFLITE_REPLACEMENTS_H_
