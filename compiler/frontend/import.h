#ifndef EK_COMPILER_FRONTEND_IMPORT_H_
#define EK_COMPILER_FRONTEND_IMPORT_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/frontend/import_options.h"
#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

enum class ModelFormat { kUnknown, kTflite, kOnnx };

// What the first bytes say: "TFL3" at offset 4 is TensorFlow Lite; a protobuf
// message that starts like a ModelProto is taken for ONNX.
ModelFormat SniffFormat(absl::string_view bytes);

// Reads a model of either format into a verified graph. `bytes` are hostile.
// INVALID_ARGUMENT or UNIMPLEMENTED made with MakeError(): what, where, limit,
// need, fix. So is a model with NaN or infinite constants, but for infinities
// that are only added. All names of the graph are valid UTF-8; see ValidName().
// Options are for ONNX.
absl::StatusOr<Graph> ImportModel(absl::string_view bytes,
                                  const ImportOptions& options = {});

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_FRONTEND_IMPORT_H_
