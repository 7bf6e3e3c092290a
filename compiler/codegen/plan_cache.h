#ifndef EK_COMPILER_CODEGEN_PLAN_CACHE_H_
#define EK_COMPILER_CODEGEN_PLAN_CACHE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "compiler/engines/backend.h"
#include "edgekiln/v1/tiling.pb.h"

namespace edgekiln::compiler {

// Plans of regions that were asked for before, while one network is planned for
// one machine. A plan that is the best within some bytes of each memory is the
// best within fewer, too, if it fits them. Not thread-safe.
class PlanCache {
 public:
  // Of the region whose only op is `op`. Null if none is known.
  const v1::RegionPlan* Find(int32_t op, const Budget& budget) const;
  void Add(int32_t op, const Budget& budget, const v1::RegionPlan& plan);

 private:
  struct Entry {
    std::vector<int64_t> memory_bytes;
    v1::RegionPlan plan;
  };
  absl::flat_hash_map<std::string, std::vector<Entry>> entries_;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_PLAN_CACHE_H_
