#ifndef EK_COMPILER_CODEGEN_ESTIMATE_MEMO_H_
#define EK_COMPILER_CODEGEN_ESTIMATE_MEMO_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "compiler/engines/backend.h"

namespace edgekiln::compiler {

// What back ends of one machine estimated of regions, for predictions of many
// graphs that have most of their regions in common. Regions are alike if their
// ops, tensors and borders are; of constants, sizes count, not values: it is
// for forms of networks (QuantizedForm()), where they mean nothing. Not
// thread-safe.
class EstimateMemo {
 public:
  // Null: not known. Nothing in it: an engine's memory is too small.
  const std::optional<int64_t>* Find(const Region& region, int32_t engine);
  // Of the region that Find() was called for last.
  void Add(std::optional<int64_t> cycles);

 private:
  std::map<std::string, std::optional<int64_t>> cycles_;  // By what it holds.
  std::string last_;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_ESTIMATE_MEMO_H_
