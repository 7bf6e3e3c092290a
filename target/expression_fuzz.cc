// Compiling and evaluating any bytes ends, and without undefined behaviour.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "target/expression.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using edgekiln::target::Constant;
  using edgekiln::target::Expression;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<Constant> constants = {{"p", 64}, {"m", INT64_MIN}};
  const std::vector<std::string> variables = {"A", "B"};
  const auto expression = Expression::Compile(text, constants, variables);
  if (!expression.ok()) return 0;
  const std::vector<int64_t> values[] = {{0, 0}, {-1, INT64_MAX}, {3, 1000}};
  for (const auto& v : values) (void)expression->Evaluate(v);
  return 0;
}
