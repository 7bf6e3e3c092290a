#ifndef EK_COMPILER_FRONTEND_IMPORT_OPTIONS_H_
#define EK_COMPILER_FRONTEND_IMPORT_OPTIONS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace edgekiln::compiler {

// What a model file leaves open. Borrows; all bytes are hostile.
struct ImportOptions {
  // Extents of symbolic dimensions by name ("N"), those of unnamed ones by
  // input and position ("x:0"). The symbol of a first dimension is 1 unless
  // said otherwise.
  std::map<std::string, int64_t> binds{};
  // Graph inputs that become constants: a file of NumPy (.npy) or a serialized
  // ONNX TensorProto (.pb).
  std::map<std::string, absl::string_view> bound_inputs{};
  // Files that the model keeps tensors in, by the location it gives.
  std::map<std::string, absl::string_view> external_files{};
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_FRONTEND_IMPORT_OPTIONS_H_
