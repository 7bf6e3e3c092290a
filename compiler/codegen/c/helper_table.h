#ifndef EK_COMPILER_CODEGEN_C_HELPER_TABLE_H_
#define EK_COMPILER_CODEGEN_C_HELPER_TABLE_H_

#include <vector>

// The texts behind helpers.h, callees before callers.
namespace edgekiln::compiler {

struct HelperText {
  const char* name;
  const char* text;
};

// Integers: rescaling, rounding, division, gemmlowp's fixed point.
const std::vector<HelperText>& IntegerHelpers();
// Bits and roundings of floats.
const std::vector<HelperText>& FloatHelpers();
// Exp, Log, ... of ops/.
const std::vector<HelperText>& MathHelpers();
// Sin, Cos, ... of ops/.
const std::vector<HelperText>& TrigonometryHelpers();
// Kernels that layers share.
const std::vector<HelperText>& SharedHelpers();
// Kernels that a table of entries calls.
const std::vector<HelperText>& TableHelpers();

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_HELPER_TABLE_H_
