#ifndef EK_COMPILER_IR_LAYER_ID_H_
#define EK_COMPILER_IR_LAYER_ID_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"

namespace edgekiln::compiler {

// Makes layer ids: short, unique, [a-z0-9_.-]+, the same for the same model on
// every run, and still readable. One per graph. Not thread-safe.
class LayerIdMaker {
 public:
  static constexpr size_t kMaxLength = 48;

  // From the name a layer has in its source model: what follows the last but
  // one '/', before the first ';' (TensorFlow joins the names of fused layers),
  // lower-cased. `fallback` where nothing is left of it. "-2", "-3", ... are
  // appended to ids that repeat.
  std::string Make(absl::string_view source_name, absl::string_view fallback);

 private:
  absl::flat_hash_set<std::string> taken_;
  absl::flat_hash_map<std::string, int64_t> repeats_;  // By id before "-N".
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_IR_LAYER_ID_H_
