#ifndef EK_COMPILER_IR_ATTRIBUTE_TEXT_H_
#define EK_COMPILER_IR_ATTRIBUTE_TEXT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "compiler/ir/text_scanner.h"
#include "edgekiln/v1/graph.pb.h"

// The attributes of an op as text: " {stride_h 1 clamp {min 0} axes [1, 2]}",
// by the field names of graph.proto. Fields at their default are left out.
namespace edgekiln::compiler {

// With a leading blank; "" if there is nothing to print.
std::string PrintAttributes(const v1::OpAttributes& attributes);

// Reads what follows "kind(...)". INVALID_ARGUMENT for an unknown kind or
// field, or a field that is given twice.
absl::Status ParseAttributes(absl::string_view kind, TextScanner& scanner,
                             v1::OpAttributes& attributes);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_IR_ATTRIBUTE_TEXT_H_
