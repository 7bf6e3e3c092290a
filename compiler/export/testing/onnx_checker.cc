#include "compiler/export/testing/onnx_checker.h"

#include <exception>
#include <string>

#include "onnx/checker.h"
#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"
#include "onnx/shape_inference/implementation.h"

namespace edgekiln::compiler {

absl::Status CheckedByOnnx(absl::string_view model) {
  onnx::ModelProto proto;
  if (!proto.ParseFromString(std::string(model))) {
    return absl::InvalidArgumentError("no ModelProto");
  }
  try {
    onnx::checker::check_model(proto);
    onnx::ShapeInferenceOptions options;
    options.check_type = true;
    options.error_mode = 1;
    options.enable_data_propagation = true;
    onnx::shape_inference::InferShapes(
        proto, onnx::OpSchemaRegistry::Instance(), options);
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(error.what());
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler
