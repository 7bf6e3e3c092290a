#ifndef EK_SIMFARM_SIMULATORS_RV32_COSTS_H_
#define EK_SIMFARM_SIMULATORS_RV32_COSTS_H_

#include <cstdint>

#include "simfarm/simulators/rv32/isa.h"

namespace edgekiln::simfarm::rv32 {

// How many cycles instructions take, all of them at least 1. Wait cycles of
// memories and devices come on top. What none of this depends on is data.
struct CycleCosts {
  int32_t alu = 1;  // Also lui, auipc, slt.
  int32_t load = 1;
  int32_t store = 1;
  int32_t branch_not_taken = 1;
  int32_t branch_taken = 1;
  int32_t jump = 1;           // jal
  int32_t jump_register = 1;  // jalr
  int32_t multiply = 1;       // mul
  int32_t multiply_high = 1;  // mulh, mulhsu, mulhu
  int32_t divide = 1;         // div, rem
  int32_t csr = 1;
  int32_t system = 1;        // fence, ecall, ebreak, mret, wfi
  int32_t float_simple = 1;  // Sign, minimum, compare, classify, move.
  int32_t float_add = 1;
  int32_t float_multiply = 1;
  int32_t float_multiply_add = 1;
  int32_t float_divide = 1;
  int32_t float_sqrt = 1;
  int32_t float_convert = 1;
  // Added to a load whose register the instruction behind it in memory reads.
  int32_t load_use_stall = 0;
  // Added when a trap or an interrupt is taken.
  int32_t trap_entry = 0;
};

// Without branch_taken and what depends on neighbours.
constexpr int32_t CostOf(const CycleCosts& costs, CostClass cost) {
  switch (cost) {
    case CostClass::kAlu:
      return costs.alu;
    case CostClass::kLoad:
      return costs.load;
    case CostClass::kStore:
      return costs.store;
    case CostClass::kBranch:
      return costs.branch_not_taken;
    case CostClass::kJump:
      return costs.jump;
    case CostClass::kJumpReg:
      return costs.jump_register;
    case CostClass::kMultiply:
      return costs.multiply;
    case CostClass::kMultiplyHigh:
      return costs.multiply_high;
    case CostClass::kDivide:
      return costs.divide;
    case CostClass::kCsr:
      return costs.csr;
    case CostClass::kSystem:
      return costs.system;
    case CostClass::kFloatSimple:
      return costs.float_simple;
    case CostClass::kFloatAdd:
      return costs.float_add;
    case CostClass::kFloatMultiply:
      return costs.float_multiply;
    case CostClass::kFloatMultiplyAdd:
      return costs.float_multiply_add;
    case CostClass::kFloatDivide:
      return costs.float_divide;
    case CostClass::kFloatSqrt:
      return costs.float_sqrt;
    case CostClass::kFloatConvert:
      return costs.float_convert;
  }
  return 1;
}

}  // namespace edgekiln::simfarm::rv32

#endif  // EK_SIMFARM_SIMULATORS_RV32_COSTS_H_
