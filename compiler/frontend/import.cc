#include "compiler/frontend/import.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/onnx_import.h"
#include "compiler/frontend/tflite/tflite_import.h"

namespace edgekiln::compiler {
namespace {

// Checks that models share with graphs of our own say what is wrong, not what
// to do about a file, and leave the place to the layers above them.
absl::Status ForModelFile(const absl::Status& status) {
  std::optional<ErrorDetail> detail = GetErrorDetail(status);
  if (!detail.has_value() || detail->fault != Fault::kUser ||
      (!detail->fix.empty() && !detail->where.empty())) {
    return status;
  }
  absl::string_view path = status.message();
  path = absl::StripSuffix(path.substr(0, path.find(detail->what)), ": ");
  if (detail->fix.empty()) {
    detail->fix = "export the model again; if it stays, change this part of it";
  }
  const bool placed = !detail->where.empty();
  if (!placed) detail->where = std::string(path);
  const absl::Status complete = MakeError(status.code(), *std::move(detail));
  return placed ? Annotate(complete, path) : complete;
}

}  // namespace

ModelFormat SniffFormat(absl::string_view bytes) {
  if (bytes.size() >= 8 && bytes.substr(4, 4) == "TFL3") {
    return ModelFormat::kTflite;
  }
  // Writers put ModelProto.ir_version, field 1, first: tag 0x08 and a small
  // number. Others are told by field 7 or 8, graph or opset_import.
  if (bytes.size() >= 2 && bytes[0] == 0x08 && bytes[1] > 0 && bytes[1] < 64) {
    return ModelFormat::kOnnx;
  }
  if (bytes.size() >= 2 && (bytes[0] == 0x3a || bytes[0] == 0x42)) {
    return ModelFormat::kOnnx;
  }
  return ModelFormat::kUnknown;
}

absl::StatusOr<Graph> ImportModel(absl::string_view bytes) {
  absl::StatusOr<Graph> graph;
  switch (SniffFormat(bytes)) {
    case ModelFormat::kTflite:
      graph = ImportTflite(bytes);
      if (!graph.ok()) return ForModelFile(graph.status());
      return graph;
    case ModelFormat::kOnnx:
      graph = ImportOnnx(bytes);
      if (!graph.ok()) return ForModelFile(graph.status());
      return graph;
    case ModelFormat::kUnknown:
      break;
  }
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "MODEL_FORMAT",
                    .what = "the file is neither a TensorFlow Lite nor an ONNX "
                            "model",
                    .where = "first bytes of the file",
                    .need = "a flatbuffer with identifier TFL3 or an ONNX "
                            "ModelProto",
                    .fix = "export the model as .tflite or .onnx"});
}

}  // namespace edgekiln::compiler
