#ifndef EK_COMPILER_FRONTEND_ONNX_MODEL_FILE_H_
#define EK_COMPILER_FRONTEND_ONNX_MODEL_FILE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "onnx/onnx_pb.h"

namespace edgekiln::compiler::onnx_import {

// A parsed ONNX file. The values of the graph's initializers, most of what
// there is, are not copied: they stay in the file, which must outlive this.
struct ModelFile {
  onnx::ModelProto model;  // Has a graph.
  // By initializer of the graph: its raw_data, of no address if it has none.
  std::vector<absl::string_view> raw_data;
};

// Errors: INVALID_ARGUMENT for what is no such file, RESOURCE_EXHAUSTED for
// one that is too large.
absl::StatusOr<ModelFile> ParseModelFile(absl::string_view bytes);

}  // namespace edgekiln::compiler::onnx_import

#endif  // EK_COMPILER_FRONTEND_ONNX_MODEL_FILE_H_
