#ifndef EK_TESTS_BENCH_RESULTS_H_
#define EK_TESTS_BENCH_RESULTS_H_

// What a bench found out, as JSON for tools/bench, which makes the table.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/bench/measure.h"

namespace edgekiln::bench {

// Where a figure to compare with comes from.
enum class Origin { kSameRun, kQuoted };

struct Reference {
  std::string name;
  double value = 0;  // In the unit of the row.
  Origin origin = Origin::kSameRun;
};

struct Row {
  std::string subject;  // "resnet8".
  std::string measure;  // "compile, CPU".
  std::string unit;     // "ms".
  double value = 0;     // Median.
  double low = 0;       // 10th percentile.
  double high = 0;      // 90th percentile.
  int64_t samples = 0;
  // The ratio of the row is value / reference.
  std::optional<Reference> reference = {};
  std::string goal = {};  // As people say it: "<= 2x"; empty: none.
};

// A row of CPU or wall times in seconds, shown in milliseconds.
Row MillisecondRow(const std::string& subject, const std::string& measure,
                   const Timing& timing);

class Results {
 public:
  explicit Results(std::string bench) : bench_(std::move(bench)) {}

  void Add(Row row) { rows_.push_back(std::move(row)); }
  // Anything a reader must know: what was absent, which variant was taken.
  void Note(std::string note) { notes_.push_back(std::move(note)); }

  // {"bench", "rows": [...], "notes": [...]}, ending with a line break.
  std::string Json() const;

 private:
  std::string bench_;
  std::vector<Row> rows_;
  std::vector<std::string> notes_;
};

}  // namespace edgekiln::bench

#endif  // EK_TESTS_BENCH_RESULTS_H_
