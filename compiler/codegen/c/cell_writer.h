#ifndef EK_COMPILER_CODEGEN_C_CELL_WRITER_H_
#define EK_COMPILER_CODEGEN_C_CELL_WRITER_H_

#include <cstdint>
#include <string>

#include "compiler/codegen/c/step_writer.h"
#include "edgekiln/v1/graph.pb.h"

// What the C of recurrent cells shares.
namespace edgekiln::compiler {

// The f, g or h of a cell as an expression of the double `x`; `absent` if the
// message names nothing: Activation of ops/cell.h.
std::string ActivationOf(StepWriter& w, const v1::CellActivation& activation,
                         bool present, v1::Unary::Function absent,
                         const std::string& x);

// Lines that limit the variable to [-bound, bound]; none for 0.
void EmitBounded(StepWriter& w, v1::ElementType type, const std::string& value,
                 float bound);

// Copies `count` elements.
void EmitCopy(CodeWriter& code, const std::string& from, const std::string& to,
              int64_t count);

// Opens loops over steps (t) and batch rows (n) that lie within their lengths
// (input `lengths` where it is there). Two blocks to close.
void OpenSteps(StepWriter& w, int64_t steps, int64_t batch, bool reverse,
               size_t lengths);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_CELL_WRITER_H_
