#include "target/kernel_variables.h"

#include <array>
#include <cstddef>
#include <vector>

#include "target/op_variables.h"

namespace edgekiln::target {
namespace {

using V = KernelVariable;

constexpr size_t kCount = static_cast<size_t>(V::kCount);
constexpr std::array<const char*, kCount> kNames = {"has_bias",
                                                    "bias_constant",
                                                    "weights_constant",
                                                    "weight_zeros",
                                                    "one_weight_zero",
                                                    "in_quantized",
                                                    "in2_quantized",
                                                    "out_quantized",
                                                    "converter",
                                                    "outputs",
                                                    "inputs",
                                                    "in_bytes",
                                                    "out_bytes",
                                                    "rounding",
                                                    "depthwise",
                                                    "leaves_input",
                                                    "channel_first",
                                                    "factors",
                                                    "least_n",
                                                    "most_n",
                                                    "one_factor",
                                                    "in_zero",
                                                    "in2_zero",
                                                    "out_zero",
                                                    "clamp_min",
                                                    "clamp_max",
                                                    "left_shift",
                                                    "pow2_left_shift",
                                                    "multiplier_a",
                                                    "n_a",
                                                    "multiplier_b",
                                                    "n_b",
                                                    "multiplier_out",
                                                    "n_out",
                                                    "outer",
                                                    "axis",
                                                    "inner",
                                                    "function",
                                                    "has_float",
                                                    "has_double",
                                                    "has_upper_half",
                                                    "has_packed",
                                                    "has_vectors",
                                                    "scratch_bytes",
                                                    "multiplier",
                                                    "n",
                                                    "weight_sum",
                                                    "bias",
                                                    "element"};

std::vector<std::string> MakeNames() {
  const auto op = OpVariableNames();
  std::vector<std::string> names(op.begin(), op.end());
  names.insert(names.end(), kNames.begin(), kNames.end());
  return names;
}

}  // namespace

absl::Span<const std::string> KernelVariableNames() {
  static const auto& names = *new std::vector<std::string>(MakeNames());
  return names;
}

}  // namespace edgekiln::target
