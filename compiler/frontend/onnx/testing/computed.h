#ifndef EK_COMPILER_FRONTEND_ONNX_TESTING_COMPUTED_H_
#define EK_COMPILER_FRONTEND_ONNX_TESTING_COMPUTED_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "compiler/frontend/onnx/onnx_import.h"
#include "compiler/frontend/onnx/testing/test_model.h"

// What tests ask of a whole model: its values, or why it is refused.
namespace edgekiln::compiler {

absl::string_view AsBytes(const std::vector<float>& values);

// The first output of a model with one float input or none. Fails the test if
// the model does not import or compute.
std::vector<float> Computed(onnx_import::TestModel& model,
                            const std::vector<float>& x,
                            const ImportOptions& options = {});

// Fails the test unless the model is refused with a place and a fix.
std::string ErrorOf(onnx_import::TestModel& model,
                    const ImportOptions& options = {});

// Fails the test unless `part` is in `message`.
void ExpectSays(const std::string& message, absl::string_view part);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_FRONTEND_ONNX_TESTING_COMPUTED_H_
