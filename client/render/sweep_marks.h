#ifndef EK_CLIENT_RENDER_SWEEP_MARKS_H_
#define EK_CLIENT_RENDER_SWEEP_MARKS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "edgekiln/v1/report.pb.h"
#include "edgekiln/v1/sweep_row.pb.h"

namespace edgekiln::client {

// The bytes used of a memory by its name; absent if there is none.
std::optional<int64_t> MemoryOf(const v1::Report& report,
                                const std::string& name);

// Of each model, the fewest cycles, and the rows that no other row is as good
// as and better than in one of cycles, `memories` and accuracy. Rows without
// accuracy, and those with another metric, are compared among themselves.
struct SweepMarks {
  std::map<int, bool> best;   // By cell.
  std::map<int, bool> front;  // By cell.
};

SweepMarks MarksOf(const std::vector<v1::SweepRow>& rows,
                   const std::vector<std::string>& memories);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_SWEEP_MARKS_H_
