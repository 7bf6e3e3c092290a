#ifndef EK_COMPILER_DATASET_SCALE_CHECK_H_
#define EK_COMPILER_DATASET_SCALE_CHECK_H_

// Notices data that was scaled for another network: 0..255 pixels for an input
// that expects -1..1, or the other way round. A person who forgets the scale
// otherwise gets a plausible report with a bad accuracy.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "compiler/dataset/data_set.h"
#include "compiler/dataset/input_grid.h"

namespace edgekiln::compiler {

// What the values were that an input has been given.
class SeenValues {
 public:
  explicit SeenValues(const InputGrid& grid);

  void Note(double real);

  int64_t count() const { return count_; }
  double min() const { return min_; }  // 0 without values.
  double max() const { return max_; }
  // Share of values beyond the grid's ends.
  double clipped_share() const { return Share(clipped_); }
  // Share of values in the grid's upper half, but near neither end of it.
  double upper_share() const { return Share(upper_); }

 private:
  double Share(int64_t part) const;

  double lowest_;  // Beyond these a value is clipped.
  double highest_;
  double upper_begin_;
  double upper_end_;
  int64_t count_ = 0;
  int64_t clipped_ = 0;
  int64_t upper_ = 0;
  double min_ = 0;
  double max_ = 0;
};

struct ScaleQuestion {
  const InputGrid& grid;
  const SeenValues& seen;  // All values of the data set.
  std::string input;
  const StoredArray& stored;
  const v1::InputTransform* given = nullptr;  // May be null.
};

// INVALID_ARGUMENT under the conditions that ConvertDataSet() documents, if the
// grid is declared. What is less certain becomes a warning. Either names the
// --input option that would help.
absl::Status CheckScaleOfData(const ScaleQuestion& question,
                              std::vector<std::string>& warnings);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DATASET_SCALE_CHECK_H_
