#include "compiler/frontend/import.h"

#include "absl/strings/match.h"
#include "base/error.h"
#include "compiler/frontend/onnx/onnx_import.h"
#include "compiler/frontend/tflite/tflite_import.h"

namespace edgekiln::compiler {

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
  switch (SniffFormat(bytes)) {
    case ModelFormat::kTflite:
      return ImportTflite(bytes);
    case ModelFormat::kOnnx:
      return ImportOnnx(bytes);
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
