#ifndef EK_CLIENT_RENDER_SWEEP_MARKS_H_
#define EK_CLIENT_RENDER_SWEEP_MARKS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/pareto.h"
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

// The same of rows that come one by one.
class GrowingMarks {
 public:
  explicit GrowingMarks(std::vector<std::string> memories)
      : memories_(std::move(memories)) {}
  GrowingMarks(const GrowingMarks&) = delete;
  GrowingMarks& operator=(const GrowingMarks&) = delete;

  void Add(const v1::SweepRow& row);
  // The marks of `rows` among all that were added.
  SweepMarks Of(const std::vector<v1::SweepRow>& rows) const;

 private:
  struct Mark {
    double cycles = 0;
    const double* fewest = nullptr;
    const GrowingFront* front = nullptr;
    size_t number = 0;  // In `front`.
  };
  struct Front {
    GrowingFront front;
    size_t count = 0;
  };

  const std::vector<std::string> memories_;
  // What marks point to stays where it is.
  std::map<std::string, double> fewest_;                         // By model.
  std::map<std::pair<std::string, std::string>, Front> fronts_;  // And metric.
  std::map<int, Mark> marks_;                                    // By cell.
};

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_SWEEP_MARKS_H_
