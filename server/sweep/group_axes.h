#ifndef EK_SERVER_SWEEP_GROUP_AXES_H_
#define EK_SERVER_SWEEP_GROUP_AXES_H_

// What the cells of one group are a product of, beside its models.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "edgekiln/v1/sweep.pb.h"
#include "server/sweep/axis.h"
#include "server/sweep/chips.h"

namespace edgekiln::server {

class GroupAxes {
 public:
  // `chips` must outlive it. INVALID_ARGUMENT: a key that no chip and no option
  // has, or twice; a value that no chip takes; a recipe that none has; a
  // condition on something else; an unknown goal or option.
  static absl::StatusOr<GroupAxes> Read(const v1::SweepGroup& group,
                                        std::vector<const Chip*> chips);

  const std::vector<const Chip*>& chips() const { return chips_; }
  const std::vector<Axis>& axes() const { return axes_; }
  const std::vector<std::string>& recipes() const { return recipes_; }
  v1::SweepGoal goal() const { return goal_; }

  // Of values; nothing if there are too many to count.
  std::optional<int64_t> combinations() const;
  // The next combination, the last axis first; false after the last one.
  bool Next(std::vector<int>& values) const;

  // Whether the chip has no such parameter.
  bool IsDropped(int chip, size_t axis) const {
    return parameters_[chip][axis] == kNone;
  }
  // Of the parameter, among the chip's.
  int ParameterIndex(int chip, size_t axis) const {
    return parameters_[chip][axis];
  }
  // Whether the chip has that recipe.
  absl::Status RecipeStatus(int chip, int recipe) const;

  // Whether an `exclude` hits the cell. Remembers which did.
  bool Excludes(int model, int chip, int recipe,
                const std::vector<int>& values);
  // One line for each `exclude` that has hit nothing.
  std::vector<std::string> UnusedExcludes() const;

 private:
  static constexpr int kNone = -1;
  // A condition: which indices of its dimension meet it.
  struct Condition {
    int dimension = 0;  // 0 model, 1 chip, 2 recipe, 3 + axis.
    std::vector<bool> met;
  };
  struct Exclude {
    std::string text;
    std::vector<Condition> when;
    bool hit = false;
  };

  GroupAxes() = default;
  absl::Status ReadAxes(const v1::SweepGroup& group);
  absl::Status CheckAxis(const Axis& axis) const;
  absl::Status ReadRecipes(const v1::SweepGroup& group);
  absl::Status ReadExcludes(const v1::SweepGroup& group);
  absl::StatusOr<Condition> ReadCondition(
      const v1::SweepGroup& group,
      const v1::SweepExclude::Condition& condition) const;

  std::vector<const Chip*> chips_;
  std::vector<Axis> axes_;
  std::vector<std::string> recipes_;
  std::vector<std::vector<absl::Status>> has_recipe_;  // By chip and recipe.
  v1::SweepGoal goal_ = v1::SWEEP_PROFILE;
  std::vector<std::vector<int>> parameters_;  // By chip and axis.
  std::vector<Exclude> excludes_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_SWEEP_GROUP_AXES_H_
