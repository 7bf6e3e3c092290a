#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ops/converter.h"
#include "ops/families.h"
#include "ops/rounding.h"
#include "ops/rules.h"
#include "ops/shape_inference.h"

namespace edgekiln::ops {
namespace {

// A fully connected layer may keep or drop leading dimensions of 1.
bool ShapeFits(const v1::OpAttributes& op, const Shape& inferred,
               absl::Span<const int64_t> declared) {
  if (op.has_fully_connected()) {
    return !declared.empty() && declared.back() == inferred.back() &&
           NumElements(declared) == NumElements(inferred);
  }
  return declared == absl::MakeConstSpan(inferred);
}

absl::Status CheckOutputShapes(const v1::OpAttributes& op, Views inputs,
                               Views outputs) {
  EK_ASSIGN_OR_RETURN(const std::vector<Shape> shapes, InferShapes(op, inputs));
  if (outputs.size() > shapes.size()) {
    return BadType(absl::StrCat(outputs.size(), " outputs"),
                   absl::StrCat("at most ", shapes.size()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (ShapeFits(op, shapes[i], outputs[i].shape)) continue;
    const std::string which =
        outputs.size() == 1 ? "output" : absl::StrCat("output ", i);
    return BadType(
        absl::StrCat(which, " has shape ", ShapeText(outputs[i].shape)),
        ShapeText(shapes[i]));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckOp(const v1::OpAttributes& attributes, Views inputs,
                     Views outputs) {
  if (outputs.empty()) return BadType("0 outputs", "at least 1");
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].present()) {
      EK_RETURN_IF_ERROR(CheckTensorType(inputs[i]), absl::StrCat("input ", i));
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    EK_RETURN_IF_ERROR(CheckTensorType(outputs[i]), absl::StrCat("output ", i));
  }
  if (!attributes.has_reshape()) {
    EK_RETURN_IF_ERROR(CheckOutputShapes(attributes, inputs, outputs));
  } else if (outputs.size() != 1) {
    return BadType(absl::StrCat(outputs.size(), " outputs"), "1");
  }
  EK_RETURN_IF_ERROR(CheckRounding(attributes, inputs, outputs));
  EK_RETURN_IF_ERROR(CheckConverter(attributes, inputs, outputs));
  return FamilyOf(attributes).check(attributes, inputs, outputs);
}

}  // namespace edgekiln::ops
