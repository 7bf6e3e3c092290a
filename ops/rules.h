#ifndef EK_OPS_RULES_H_
#define EK_OPS_RULES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "edgekiln/v1/graph.pb.h"
#include "ops/tensor_view.h"

// What the families' rules (families.h) are written with. Functions that give
// absl::Status return INVALID_ARGUMENT saying which tensor and why.
//
// Thread-safe: pure functions.
namespace edgekiln::ops {

using Shape = std::vector<int64_t>;
using Views = absl::Span<const TensorView>;

absl::Status BadType(std::string what, std::string need = "",
                     std::string limit = "");
absl::Status BadShape(std::string what, std::string need = "");
// UNIMPLEMENTED; INVALID_ARGUMENT for attributes that are not set.
absl::Status NoSuchOp(const v1::OpAttributes& op);

std::string ShapeText(absl::Span<const int64_t> shape);  // "[1,2]"
std::string TypeName(v1::ElementType type);

// --- Types ---

// INT8, UINT8: 8-bit activations.
bool IsQuantizedType(v1::ElementType type);
bool IsFloatType(v1::ElementType type);    // 16, 32 or 64 bits.
bool IsIntegerType(v1::ElementType type);  // Signed or not; not BOOL.
bool IsNumericType(v1::ElementType type);  // Float or integer.
bool IsIndexType(v1::ElementType type);    // INT32, INT64.

absl::Status WantType(const TensorView& tensor, absl::string_view which,
                      v1::ElementType type);
absl::Status WantPerTensor(const TensorView& tensor, absl::string_view which);
// At most `at_most` inputs, of which the first `at_least` are present.
absl::Status WantCount(Views inputs, size_t at_least, size_t at_most);
absl::Status CheckClamp(const v1::Clamp& clamp);
// All of `inputs` and the output are FLOAT32, or all are one 8-bit type with
// one scale each.
absl::Status WantUniform(Views inputs, const TensorView& output);
// All of `inputs` (and the output) have one type: any numeric one without
// scales, or INT8, UINT8 or INT16 with one scale each, INT16 with zero point 0.
absl::Status WantArithmetic(Views inputs);
absl::Status WantArithmetic(Views inputs, const TensorView& output);
absl::Status WantNotQuantized(const TensorView& tensor,
                              absl::string_view which);
// A clamp needs real values: floats, or integers with a scale.
absl::Status WantClampable(const v1::Clamp& clamp, const TensorView& output);
// Ops that copy or compare values: one type, one quantization.
absl::Status CheckMove(const TensorView& input, const TensorView& output);

// --- Shapes ---

absl::Status WantRank(Views inputs, size_t index, size_t rank);
absl::Status WantInputs(Views inputs, size_t at_least);
// Output extents over H and W of a window on an NHWC input.
absl::StatusOr<std::pair<int64_t, int64_t>> WindowExtents(
    const v1::Window2d& window, absl::Span<const int64_t> x, int64_t kernel_h,
    int64_t kernel_w);
// That of input 0, which must have the axis.
absl::StatusOr<Shape> AxisShape(int32_t axis, Views inputs);
// That of input 0.
absl::StatusOr<Shape> SameShape(Views inputs);
// One output's shape as the list of all.
absl::StatusOr<std::vector<Shape>> One(absl::StatusOr<Shape> shape);

}  // namespace edgekiln::ops

#endif  // EK_OPS_RULES_H_
