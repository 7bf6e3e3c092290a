#ifndef EK_REPORTS_EXPORT_MEMORY_USE_H_
#define EK_REPORTS_EXPORT_MEMORY_USE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "edgekiln/v1/report.pb.h"

namespace edgekiln {

// How much of a memory holds tensors that are in use.
struct MemoryOverTime {
  std::string name;
  std::vector<int64_t> bytes_by_layer;  // One per layer of the report.
};

// The memories that tensors of the report lie in, in the order of its tensors.
// Bytes that several tensors share count once. Empty without layers.
std::vector<MemoryOverTime> MemoriesOverTime(const v1::Report& report);

}  // namespace edgekiln

#endif  // EK_REPORTS_EXPORT_MEMORY_USE_H_
