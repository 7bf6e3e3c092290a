#include "compiler/quantize/scale_choice.h"

#include <algorithm>
#include <optional>
#include <set>

namespace edgekiln::compiler {
namespace {

constexpr int kRounds = 8;
constexpr size_t kMostPairs = 256;  // More are not looked at.
// Scales that differ by less are one.
constexpr float kAlike = 1.01f;

// Of a group whose scale is `scale`: the error of the widest way up to it.
double ErrorAt(const ScaleChoice& choice, float scale) {
  float widest = 0;
  double error = 0;
  for (size_t way = 0; way < choice.ways.size(); ++way) {
    const float of_way = choice.ways[way].scale[0];
    if (of_way > scale * kAlike || of_way <= widest) continue;
    widest = of_way;
    error = choice.errors[way];
  }
  if (scale <= widest * kAlike) return error;
  const double wider = double{scale} / widest;
  return error * wider * wider;
}

class Search {
 public:
  Search(const std::map<TensorId, ScaleChoice>& choices,
         const std::map<TensorId, float>& fixed,
         absl::Span<const RisingScales> rising)
      : choices_(choices),
        fixed_(fixed),
        rising_(rising.size() > kMostPairs ? absl::Span<const RisingScales>()
                                           : rising) {
    for (const auto& [group, choice] : choices_) {
      const auto best =
          std::min_element(choice.errors.begin(), choice.errors.end());
      chosen_[group] = static_cast<size_t>(best - choice.errors.begin());
    }
  }

  std::map<TensorId, size_t> Run() {
    double least = Error();
    for (int round = 0; round < kRounds; ++round) {
      bool better = false;
      for (const auto& [group, choice] : choices_) {
        const std::set<TensorId> above = Above(group);
        if (above.empty()) continue;
        for (size_t way = 0; way < choice.ways.size(); ++way) {
          // Alone, and with all that a wider scale between them would raise.
          for (const bool with_above : {false, true}) {
            const std::map<TensorId, size_t> before = chosen_;
            chosen_[group] = way;
            if (with_above) {
              for (const TensorId other : above) {
                Limit(other, choice.ways[way].scale[0]);
              }
            }
            const double error = Error();
            if (error < least) {
              least = error;
              better = true;
            } else {
              chosen_ = before;
            }
          }
        }
      }
      if (!better) break;
    }
    return std::move(chosen_);
  }

 private:
  // Groups on whose scales that of `group` has an effect.
  std::set<TensorId> Above(TensorId group) const {
    std::set<TensorId> above;
    std::vector<TensorId> open = {group};
    while (!open.empty()) {
      const TensorId from = open.back();
      open.pop_back();
      for (const RisingScales& pair : rising_) {
        if (pair.below == from && above.insert(pair.above).second) {
          open.push_back(pair.above);
        }
      }
    }
    above.erase(group);
    return above;
  }

  // To the best way of the group up to `scale`, if there is one.
  void Limit(TensorId group, float scale) {
    const auto found = choices_.find(group);
    if (found == choices_.end()) return;
    const ScaleChoice& choice = found->second;
    std::optional<size_t> best;
    for (size_t way = 0; way < choice.ways.size(); ++way) {
      if (choice.ways[way].scale[0] > scale * kAlike) continue;
      if (!best || choice.errors[way] < choice.errors[*best]) best = way;
    }
    if (best) chosen_[group] = *best;
  }

  // Of all groups, once scales are raised.
  double Error() const {
    std::map<TensorId, float> scales = fixed_;
    for (const auto& [group, way] : chosen_) {
      scales[group] = choices_.at(group).ways[way].scale[0];
    }
    // Each round carries a scale one pair further.
    for (size_t round = 0; round < rising_.size(); ++round) {
      bool raised = false;
      for (const RisingScales& pair : rising_) {
        float& above = scales[pair.above];
        if (above >= scales[pair.below]) continue;
        above = scales[pair.below];
        raised = true;
      }
      if (!raised) break;
    }
    double error = 0;
    for (const auto& [group, choice] : choices_) {
      error += ErrorAt(choice, scales.at(group));
    }
    return error;
  }

  const std::map<TensorId, ScaleChoice>& choices_;
  const std::map<TensorId, float>& fixed_;
  const absl::Span<const RisingScales> rising_;
  std::map<TensorId, size_t> chosen_;
};

}  // namespace

std::map<TensorId, size_t> ChooseScales(
    const std::map<TensorId, ScaleChoice>& choices,
    const std::map<TensorId, float>& fixed,
    absl::Span<const RisingScales> rising) {
  return Search(choices, fixed, rising).Run();
}

}  // namespace edgekiln::compiler
