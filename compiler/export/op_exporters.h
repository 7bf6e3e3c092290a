#ifndef EK_COMPILER_EXPORT_OP_EXPORTERS_H_
#define EK_COMPILER_EXPORT_OP_EXPORTERS_H_

#include "absl/status/status.h"
#include "compiler/export/op_writer.h"

// One kind of op each, as nodes. They write the real-valued operator; that
// operands come from a DequantizeLinear and results go through a QuantizeLinear
// is OpWriter's.
namespace edgekiln::compiler::onnx_export {

// export_windows.cc
absl::Status ExportConv2d(OpWriter& writer);
absl::Status ExportDepthwiseConv2d(OpWriter& writer);
absl::Status ExportConv3d(OpWriter& writer);
absl::Status ExportTransposedConv(OpWriter& writer);
absl::Status ExportAveragePool2d(OpWriter& writer);
absl::Status ExportMaxPool2d(OpWriter& writer);
absl::Status ExportPool(OpWriter& writer);
absl::Status ExportResize(OpWriter& writer);
absl::Status ExportGridSample(OpWriter& writer);

// export_functions.cc
absl::Status ExportFullyConnected(OpWriter& writer);
absl::Status ExportUnary(OpWriter& writer);
absl::Status ExportBinary(OpWriter& writer);
absl::Status ExportClip(OpWriter& writer);
absl::Status ExportCast(OpWriter& writer);
// Ops that one operator without attributes computes.
absl::Status ExportPlain(OpWriter& writer, absl::string_view type);

// export_normalization.cc
absl::Status ExportSoftmax(OpWriter& writer);
absl::Status ExportLogSoftmax(OpWriter& writer);
absl::Status ExportBatchNormalization(OpWriter& writer);
absl::Status ExportLayerNormalization(OpWriter& writer);
absl::Status ExportL2Normalization(OpWriter& writer);
absl::Status ExportLocalResponseNormalization(OpWriter& writer);
absl::Status ExportReduceMean(OpWriter& writer);
absl::Status ExportReduce(OpWriter& writer);
absl::Status ExportArgReduce(OpWriter& writer);
absl::Status ExportCumSum(OpWriter& writer);
absl::Status ExportTopK(OpWriter& writer);

// export_movement.cc
absl::Status ExportReshape(OpWriter& writer);
absl::Status ExportTranspose(OpWriter& writer);
absl::Status ExportPad(OpWriter& writer);
absl::Status ExportConcat(OpWriter& writer);
absl::Status ExportSlice(OpWriter& writer);
absl::Status ExportGather(OpWriter& writer);
absl::Status ExportGatherElements(OpWriter& writer);
absl::Status ExportGatherNd(OpWriter& writer);
absl::Status ExportScatterElements(OpWriter& writer);
absl::Status ExportScatterNd(OpWriter& writer);
absl::Status ExportBroadcastTo(OpWriter& writer);
absl::Status ExportTile(OpWriter& writer);
absl::Status ExportReverseSequence(OpWriter& writer);

}  // namespace edgekiln::compiler::onnx_export

#endif  // EK_COMPILER_EXPORT_OP_EXPORTERS_H_
