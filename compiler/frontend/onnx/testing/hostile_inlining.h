#ifndef EK_COMPILER_FRONTEND_ONNX_TESTING_HOSTILE_INLINING_H_
#define EK_COMPILER_FRONTEND_ONNX_TESTING_HOSTILE_INLINING_H_

#include <vector>

#include "compiler/frontend/onnx/testing/test_model.h"

// For tests: models whose functions, branches and loops become much.
namespace edgekiln::compiler {

struct HostileCase {
  const char* name;
  onnx_import::TestModel model;
};

// Of at most 1 KiB.
std::vector<HostileCase> MuchInlined();
// Larger ones, of which much is read or copied over and over.
std::vector<HostileCase> MuchReadAgain();

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_FRONTEND_ONNX_TESTING_HOSTILE_INLINING_H_
