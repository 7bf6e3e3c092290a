#include "simfarm/simulators/rv32/symbols.h"

#include <algorithm>
#include <utility>

namespace edgekiln::simfarm::rv32 {

SymbolTable::SymbolTable(std::vector<Function> functions) {
  for (Function& function : functions) {
    const bool same =
        !functions_.empty() && functions_.back().address == function.address;
    if (!same) {
      functions_.push_back(std::move(function));
    } else if (functions_.back().size_bytes == 0) {
      functions_.back() = std::move(function);
    }
  }
}

const Function* SymbolTable::Find(uint32_t address) const {
  const auto after = std::upper_bound(
      functions_.begin(), functions_.end(), address,
      [](uint32_t at, const Function& each) { return at < each.address; });
  if (after == functions_.begin()) return nullptr;
  const Function& function = *std::prev(after);
  if (function.size_bytes == 0) return &function;
  return address - function.address < function.size_bytes ? &function : nullptr;
}

}  // namespace edgekiln::simfarm::rv32
