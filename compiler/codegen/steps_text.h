#ifndef EK_COMPILER_CODEGEN_STEPS_TEXT_H_
#define EK_COMPILER_CODEGEN_STEPS_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// What the host does in one inference, a line for each step and, indented, for
// each register it writes:
//
//   0    move  flash 0x00000040 to tile_mem 0x00000000, layouts 0 to 0, mover
//   1    write array
//          KERNEL 0x0000002a
//          start 0x00000001
//   2    poll  array 0x84 until & 0x00000001 is 0x00000001
//   3    host  softmax
//
// INVALID_ARGUMENT if a step names a memory, link, engine or register that the
// machine does not have.
absl::StatusOr<std::string> StepsText(const v1::Program& program,
                                      const v1::Machine& machine);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_STEPS_TEXT_H_
