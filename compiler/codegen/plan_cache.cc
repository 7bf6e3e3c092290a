#include "compiler/codegen/plan_cache.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace edgekiln::compiler {
namespace {

// All of a budget but its bytes.
std::string KeyOf(int32_t op, const Budget& budget) {
  std::string key = absl::StrCat(op);
  for (const Budget::Border& border : budget.borders) {
    const std::string layout = border.layout.SerializeAsString();
    absl::StrAppend(&key, "|", border.tensor, ",", border.memory, ",",
                    border.resident ? 1 : 0, ",", border.over, ",",
                    border.address ? absl::StrCat(*border.address) : "", ",",
                    layout.size(), ":", layout);
  }
  return key;
}

bool Fits(const v1::RegionPlan& plan, const std::vector<int64_t>& bytes) {
  return std::all_of(plan.needs().begin(), plan.needs().end(),
                     [&](const v1::RegionPlan::MemoryNeed& need) {
                       return need.bytes() <= bytes[need.memory()];
                     });
}

bool AtLeast(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  for (size_t m = 0; m < a.size(); ++m) {
    if (a[m] < b[m]) return false;
  }
  return true;
}

}  // namespace

const v1::RegionPlan* PlanCache::Find(int32_t op, const Budget& budget) const {
  const auto found = entries_.find(KeyOf(op, budget));
  if (found == entries_.end()) return nullptr;
  for (const Entry& entry : found->second) {
    if (AtLeast(entry.memory_bytes, budget.memory_bytes) &&
        Fits(entry.plan, budget.memory_bytes)) {
      return &entry.plan;
    }
  }
  return nullptr;
}

void PlanCache::Add(int32_t op, const Budget& budget,
                    const v1::RegionPlan& plan) {
  entries_[KeyOf(op, budget)].push_back({budget.memory_bytes, plan});
}

}  // namespace edgekiln::compiler
