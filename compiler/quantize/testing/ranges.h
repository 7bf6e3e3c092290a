#ifndef EK_COMPILER_QUANTIZE_TESTING_RANGES_H_
#define EK_COMPILER_QUANTIZE_TESTING_RANGES_H_

#include <map>
#include <string>
#include <utility>

#include "edgekiln/v1/graph.pb.h"

namespace edgekiln::compiler {

// Least and largest value, by name of the tensor.
using Ranges = std::map<std::string, std::pair<float, float>>;

// Statistics that know nothing else.
inline v1::CalibrationStatistics StatisticsOf(const Ranges& ranges) {
  v1::CalibrationStatistics statistics;
  for (const auto& [tensor, range] : ranges) {
    auto* one = statistics.add_ranges();
    one->set_tensor(tensor);
    one->set_min(range.first);
    one->set_max(range.second);
  }
  return statistics;
}

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_TESTING_RANGES_H_
