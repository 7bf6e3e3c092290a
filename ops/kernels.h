#ifndef EK_OPS_KERNELS_H_
#define EK_OPS_KERNELS_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "edgekiln/v1/graph.pb.h"
#include "ops/cpu_path.h"
#include "ops/prepared.h"
#include "ops/tensor_view.h"

// One function per op, each in the source file of its family. They compute;
// types and shapes have been checked by CheckOp(), not all outputs are empty.
// Only the families (families.h) call them. `rounding` is the op's, where it
// has a meaning of its own. Semantics: docs/numerics.md.
namespace edgekiln::ops {

using Inputs = absl::Span<const TensorView>;
using Outputs = absl::Span<const MutableTensorView>;

// The input, or an absent view if there are fewer.
inline TensorView InputOr(Inputs inputs, size_t index) {
  return index < inputs.size() ? inputs[index] : TensorView{};
}

// conv.cc, depthwise.cc, fully_connected.cc, matmul.cc
absl::StatusOr<std::unique_ptr<PreparedOp>> PrepareConv2d(
    const v1::Conv2d& op, v1::Rounding rounding, Inputs inputs,
    const TensorView& output);
absl::StatusOr<std::unique_ptr<PreparedOp>> PrepareConv3d(
    const v1::Conv3d& op, v1::Rounding rounding, Inputs inputs,
    const TensorView& output);
absl::StatusOr<std::unique_ptr<PreparedOp>> PrepareTransposedConv(
    const v1::TransposedConv& op, v1::Rounding rounding, Inputs inputs,
    const TensorView& output);
absl::StatusOr<std::unique_ptr<PreparedOp>> PrepareDepthwiseConv2d(
    const v1::DepthwiseConv2d& op, v1::Rounding rounding, Inputs inputs,
    const TensorView& output);
absl::StatusOr<std::unique_ptr<PreparedOp>> PrepareFullyConnected(
    const v1::FullyConnected& op, v1::Rounding rounding, Inputs inputs,
    const TensorView& output);
absl::StatusOr<std::unique_ptr<PreparedOp>> PrepareMatMul(
    v1::Rounding rounding, Inputs inputs, const TensorView& output);
// pool.cc
absl::Status AveragePool2d(const v1::AveragePool2d& op, v1::Rounding rounding,
                           const TensorView& input,
                           const MutableTensorView& output);
absl::Status MaxPool2d(const v1::MaxPool2d& op, const TensorView& input,
                       const MutableTensorView& output);
absl::Status Pool(const v1::Pool& op, v1::Rounding rounding,
                  const TensorView& input, Outputs outputs);
// elementwise.cc
absl::Status Add(const v1::Add& op, v1::Rounding rounding, Inputs inputs,
                 const MutableTensorView& output);
absl::Status Mul(const v1::Mul& op, v1::Rounding rounding, Inputs inputs,
                 const MutableTensorView& output);
absl::Status Clip(const v1::Clip& op, v1::Rounding rounding,
                  const TensorView& input, const MutableTensorView& output);
// softmax.cc
absl::Status Softmax(const v1::Softmax& op, const TensorView& input,
                     const MutableTensorView& output);
// shape.cc
absl::Status Reshape(const TensorView& input, const MutableTensorView& output);
absl::Status Transpose(const v1::Transpose& op, const TensorView& input,
                       const MutableTensorView& output);
absl::Status Pad(const v1::Pad& op, const TensorView& input,
                 const MutableTensorView& output);
absl::Status Concat(const v1::Concat& op, v1::Rounding rounding, Inputs inputs,
                    const MutableTensorView& output);
// quantize.cc
absl::Status Quantize(v1::Rounding rounding, const TensorView& input,
                      const MutableTensorView& output);
absl::Status Dequantize(const TensorView& input,
                        const MutableTensorView& output);
// requantize_sums.cc
absl::Status Requantize(const v1::Requantize& op, v1::Rounding rounding,
                        const TensorView& input,
                        const MutableTensorView& output, CpuPath path);
// batch_norm.cc
absl::Status BatchNormalization(const v1::BatchNormalization& op, Inputs inputs,
                                const MutableTensorView& output);
// mean.cc
absl::Status ReduceMean(const v1::ReduceMean& op, const TensorView& input,
                        const MutableTensorView& output);

// normalization.cc
absl::Status LocalResponseNormalization(
    const v1::LocalResponseNormalization& op, const TensorView& input,
    const MutableTensorView& output);
absl::Status LayerNormalization(const v1::LayerNormalization& op, Inputs inputs,
                                const MutableTensorView& output);
absl::Status L2Normalization(const v1::L2Normalization& op,
                             const TensorView& input,
                             const MutableTensorView& output);
// log_softmax.cc
absl::Status LogSoftmax(const v1::LogSoftmax& op, const TensorView& input,
                        const MutableTensorView& output);
// resize.cc
absl::Status Resize(const v1::Resize& op, const TensorView& input,
                    const MutableTensorView& output);
// lstm.cc, gru.cc, rnn.cc, svdf.cc
absl::Status Lstm(const v1::Lstm& op, Inputs inputs, Outputs outputs,
                  CpuPath path);
absl::Status Gru(const v1::Gru& op, Inputs inputs, Outputs outputs,
                 CpuPath path);
absl::Status Rnn(const v1::Rnn& op, Inputs inputs, Outputs outputs,
                 CpuPath path);
absl::Status Svdf(const v1::Svdf& op, Inputs inputs, Outputs outputs,
                  CpuPath path);
// lstm_integer.cc, lstm_int16.cc, svdf_integer.cc
absl::Status LstmInteger(const v1::Lstm& op, Inputs inputs, Outputs outputs);
absl::Status LstmInt16(const v1::Lstm& op, Inputs inputs, Outputs outputs);
absl::Status SvdfInteger(const v1::Svdf& op, Inputs inputs, Outputs outputs);
// unary.cc
absl::Status Unary(const v1::Unary& op, v1::Rounding rounding,
                   const TensorView& input, const MutableTensorView& output);
// binary.cc
absl::Status Binary(const v1::Binary& op, v1::Rounding rounding, Inputs inputs,
                    const MutableTensorView& output);
// select.cc
absl::Status Select(Inputs inputs, const MutableTensorView& output);
// cast.cc
absl::Status Cast(const TensorView& input, const MutableTensorView& output);
// gather.cc
absl::Status Gather(const v1::Gather& op, Inputs inputs,
                    const MutableTensorView& output);
absl::Status GatherElements(const v1::GatherElements& op, Inputs inputs,
                            const MutableTensorView& output);
// gather_nd.cc, scatter.cc
absl::Status GatherNd(const v1::GatherNd& op, Inputs inputs,
                      const MutableTensorView& output);
absl::Status ScatterElements(const v1::ScatterElements& op, Inputs inputs,
                             const MutableTensorView& output);
absl::Status ScatterNd(const v1::ScatterNd& op, Inputs inputs,
                       const MutableTensorView& output);
// reverse_sequence.cc
absl::Status ReverseSequence(const v1::ReverseSequence& op, Inputs inputs,
                             const MutableTensorView& output);
// grid_sample.cc
absl::Status GridSample(const v1::GridSample& op, Inputs inputs,
                        const MutableTensorView& output);
// slice.cc
absl::Status Slice(const v1::Slice& op, const TensorView& input,
                   const MutableTensorView& output);
absl::Status BroadcastTo(const TensorView& input,
                         const MutableTensorView& output);
absl::Status Tile(const TensorView& input, const MutableTensorView& output);
// reduce.cc
absl::Status Reduce(const v1::Reduce& op, const TensorView& input,
                    const MutableTensorView& output);
// order.cc
absl::Status ArgReduce(const v1::ArgReduce& op, const TensorView& input,
                       const MutableTensorView& output);
absl::Status TopK(const v1::TopK& op, const TensorView& input, Outputs outputs);
absl::Status CumSum(const v1::CumSum& op, const TensorView& input,
                    const MutableTensorView& output);

}  // namespace edgekiln::ops

#endif  // EK_OPS_KERNELS_H_
