#ifndef EK_COMPILER_FRONTEND_ONNX_ONNX_IMPORT_H_
#define EK_COMPILER_FRONTEND_ONNX_ONNX_IMPORT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/frontend/import_options.h"
#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

// Op sets of the default domain that ImportOnnx() understands. Models of older
// ones import if their operators were the same then.
inline constexpr int kMinOnnxOpset = 6;
inline constexpr int kMaxOnnxOpset = 21;

// Reads an ONNX model into a verified graph. `bytes` are hostile: sizes,
// nesting and counts are bounded before anything is allocated.
//
// Graph inputs and outputs keep the model's names and layout; ops that slide a
// window run channels-last between Transpose ops. A symbolic first dimension of
// an input is 1 unless `options` bind it. What constants decide is computed:
// shape arithmetic, branches, loops. Functions of the model are put in place.
// Nodes that no output needs are not looked at. Layer ids come from node names,
// else from op type and output name.
//
// INVALID_ARGUMENT for a file that is no ONNX model or contradicts itself,
// UNIMPLEMENTED for one that uses what we do not support; both made with
// MakeError() and naming op type, node, op set and tensor where there is one.
absl::StatusOr<Graph> ImportOnnx(absl::string_view bytes,
                                 const ImportOptions& options = {});

// Whether the file has an initializer, or a node that makes a tensor, of this
// name. Parses the file anew: for errors.
bool OnnxHasTensor(absl::string_view bytes, const std::string& name);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_FRONTEND_ONNX_ONNX_IMPORT_H_
