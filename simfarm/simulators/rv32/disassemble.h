#ifndef EK_SIMFARM_SIMULATORS_RV32_DISASSEMBLE_H_
#define EK_SIMFARM_SIMULATORS_RV32_DISASSEMBLE_H_

// Instructions as assembly text, made from what the core decodes: what is shown
// is what was executed.

#include <cstdint>
#include <string>

#include "simfarm/simulators/rv32/isa.h"

namespace edgekiln::simfarm::rv32 {

// The instruction at `pc` as the usual pseudo-instruction where it has one,
// with register names of the calling convention and absolute hexadecimal
// targets: "bne a3,a5,0x20000944". A compressed instruction reads like the one
// that it expands to.
std::string Disassemble(const Instruction& instruction, uint32_t pc);

}  // namespace edgekiln::simfarm::rv32

#endif  // EK_SIMFARM_SIMULATORS_RV32_DISASSEMBLE_H_
