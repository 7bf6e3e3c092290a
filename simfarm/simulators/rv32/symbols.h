#ifndef EK_SIMFARM_SIMULATORS_RV32_SYMBOLS_H_
#define EK_SIMFARM_SIMULATORS_RV32_SYMBOLS_H_

#include <cstdint>
#include <vector>

#include "simfarm/simulators/rv32/elf.h"

namespace edgekiln::simfarm::rv32 {

// Finds the function that an address belongs to.
class SymbolTable {
 public:
  SymbolTable() = default;
  // `functions` are ordered by address, as ReadElf() gives them. Of several at
  // one address the first counts that has a size.
  explicit SymbolTable(std::vector<Function> functions);

  // Null if no function covers it.
  const Function* Find(uint32_t address) const;

 private:
  std::vector<Function> functions_;  // One per address.
};

}  // namespace edgekiln::simfarm::rv32

#endif  // EK_SIMFARM_SIMULATORS_RV32_SYMBOLS_H_
