#ifndef EK_OPS_KERNELS_H_
#define EK_OPS_KERNELS_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "edgekiln/v1/graph.pb.h"
#include "ops/cpu_path.h"
#include "ops/tensor_view.h"

// One function per op, each in the source file of its family. They compute;
// types and shapes have been checked by CheckOp(), no output is empty. Only
// Evaluate() calls them. Semantics: docs/numerics.md.
namespace edgekiln::ops {

using Inputs = absl::Span<const TensorView>;

// The input, or an absent view if there are fewer.
inline TensorView InputOr(Inputs inputs, size_t index) {
  return index < inputs.size() ? inputs[index] : TensorView{};
}

// conv.cc
absl::Status Conv2d(const v1::Conv2d& op, Inputs inputs,
                    const MutableTensorView& output, CpuPath path);
// depthwise.cc
absl::Status DepthwiseConv2d(const v1::DepthwiseConv2d& op, Inputs inputs,
                             const MutableTensorView& output);
// fully_connected.cc
absl::Status FullyConnected(const v1::FullyConnected& op, Inputs inputs,
                            const MutableTensorView& output, CpuPath path);
// matmul.cc
absl::Status MatMul(Inputs inputs, const MutableTensorView& output,
                    CpuPath path);
// pool.cc
absl::Status AveragePool2d(const v1::AveragePool2d& op, const TensorView& input,
                           const MutableTensorView& output);
absl::Status MaxPool2d(const v1::MaxPool2d& op, const TensorView& input,
                       const MutableTensorView& output);
// elementwise.cc
absl::Status Add(const v1::Add& op, Inputs inputs,
                 const MutableTensorView& output);
absl::Status Mul(const v1::Mul& op, Inputs inputs,
                 const MutableTensorView& output);
absl::Status Clip(const v1::Clip& op, const TensorView& input,
                  const MutableTensorView& output);
// softmax.cc
absl::Status Softmax(const v1::Softmax& op, const TensorView& input,
                     const MutableTensorView& output);
// shape.cc
absl::Status Reshape(const TensorView& input, const MutableTensorView& output);
absl::Status Transpose(const v1::Transpose& op, const TensorView& input,
                       const MutableTensorView& output);
absl::Status Pad(const v1::Pad& op, const TensorView& input,
                 const MutableTensorView& output);
absl::Status Concat(const v1::Concat& op, Inputs inputs,
                    const MutableTensorView& output);
// quantize.cc
absl::Status Quantize(const TensorView& input, const MutableTensorView& output);
absl::Status Dequantize(const TensorView& input,
                        const MutableTensorView& output);
// batch_norm.cc
absl::Status BatchNormalization(const v1::BatchNormalization& op, Inputs inputs,
                                const MutableTensorView& output);
// mean.cc
absl::Status ReduceMean(const v1::ReduceMean& op, const TensorView& input,
                        const MutableTensorView& output);

}  // namespace edgekiln::ops

#endif  // EK_OPS_KERNELS_H_
