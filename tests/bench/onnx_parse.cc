#include "tests/bench/onnx_parse.h"

#include "onnx/onnx_pb.h"

namespace edgekiln::bench {

absl::Status ParseOnnx(absl::string_view bytes) {
  onnx::ModelProto model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("not an ONNX model");
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::bench
