#ifndef EK_OPS_SHAPE_INFERENCE_H_
#define EK_OPS_SHAPE_INFERENCE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "edgekiln/v1/graph.pb.h"
#include "ops/tensor_view.h"

// What an op accepts and what it gives, from attributes and input types alone.
// Attributes and shapes may come from outside: every product is checked.
//
// Thread-safe: pure functions.
namespace edgekiln::ops {

// Tensors above this size are refused everywhere: nothing we target or
// interpret is near it, and all index arithmetic below fits int64 easily.
inline constexpr int64_t kMaxTensorBytes = int64_t{1} << 31;
inline constexpr int kMaxRank = 8;

// The field name of the op in v1::OpAttributes ("conv2d"); "" if none is set.
absl::string_view OpKind(const v1::OpAttributes& attributes);

// Shapes of the outputs. INVALID_ARGUMENT if the inputs do not fit together,
// and for "reshape", whose shape is only in its output tensor. Views need no
// data.
absl::StatusOr<std::vector<std::vector<int64_t>>> InferShapes(
    const v1::OpAttributes& attributes, absl::Span<const TensorView> inputs);

// Everything that must hold before the op can be computed: number of inputs,
// ranks, extents, attributes, element types, quantization (present, per tensor
// or per channel, equal where the op only moves values), and that `outputs`
// have the inferred shapes. Views need no data. INVALID_ARGUMENT saying which
// input or output and why.
absl::Status CheckOp(const v1::OpAttributes& attributes,
                     absl::Span<const TensorView> inputs,
                     absl::Span<const TensorView> outputs);

// Shape, type and quantization arity of one tensor: rank <= kMaxRank, extents
// >= 0, bytes <= kMaxTensorBytes, scales finite and > 0, zero points within the
// element type, one scale or one per channel.
absl::Status CheckTensorType(const TensorView& tensor);

// Extent of a sliding window's output: floor((in + pads - reach) / stride) + 1
// with reach = (kernel - 1) * dilation + 1; 0 or less if the window does not
// fit. All arguments within int32.
int64_t WindowOutputExtent(int64_t in, int64_t kernel, int64_t stride,
                           int64_t dilation, int64_t pad_before,
                           int64_t pad_after);

// {before, after} so that the output extent is ceil(in / stride), the odd
// element after (TensorFlow's SAME, ONNX's SAME_UPPER).
std::pair<int32_t, int32_t> SamePadding(int64_t in, int64_t kernel,
                                        int64_t stride, int64_t dilation);

// Numpy's common shape of two; INVALID_ARGUMENT if there is none.
absl::StatusOr<std::vector<int64_t>> BroadcastShape(
    absl::Span<const int64_t> a, absl::Span<const int64_t> b);

}  // namespace edgekiln::ops

#endif  // EK_OPS_SHAPE_INFERENCE_H_
