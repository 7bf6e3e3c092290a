#include "server/worker/stages/class_scores.h"

#include <algorithm>
#include <vector>

#include "base/checked_math.h"
#include "compiler/dataset/sample_layout.h"

namespace edgekiln::server {

int64_t ClassesOf(absl::Span<const v1::TensorType> inputs,
                  absl::Span<const v1::TensorType> outputs, bool labelled) {
  if (outputs.empty() || (outputs.size() > 1 && !labelled)) return 0;
  const std::vector<int64_t> shape = compiler::SampleShape(outputs[0]);
  const int64_t elements = CheckedProduct(shape).value_or(0);
  if (elements < 2 || Reconstructs(inputs, outputs)) return 0;
  const int64_t largest = *std::max_element(shape.begin(), shape.end());
  return largest == elements ? elements : 0;
}

bool Reconstructs(absl::Span<const v1::TensorType> inputs,
                  absl::Span<const v1::TensorType> outputs) {
  return !inputs.empty() && !outputs.empty() &&
         compiler::SampleShape(outputs[0]) == compiler::SampleShape(inputs[0]);
}

}  // namespace edgekiln::server
