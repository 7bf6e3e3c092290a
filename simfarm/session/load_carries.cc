#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "ops/real_zero.h"
#include "ops/tensor_view.h"
#include "simfarm/session/loaded_program.h"

namespace edgekiln::simfarm {
namespace {

// Whether element type, shape and quantization are equal, so that values can be
// carried as they are.
bool SameType(const v1::TensorType& a, const v1::TensorType& b) {
  return a.element_type() == b.element_type() &&
         std::equal(a.shape().begin(), a.shape().end(), b.shape().begin(),
                    b.shape().end()) &&
         a.quantization().SerializeAsString() ==
             b.quantization().SerializeAsString();
}

absl::Status CheckCarry(const v1::Program::Carry& carry,
                        const LoadedProgram& loaded) {
  const v1::Program& program = loaded.program;
  if (carry.output() < 0 || carry.output() >= program.outputs_size()) {
    return InvalidProgram(absl::StrCat("no output ", carry.output()), "");
  }
  if (carry.input() < 0 || carry.input() >= program.inputs_size()) {
    return InvalidProgram(absl::StrCat("no input ", carry.input()), "");
  }
  const v1::TensorType& output = program.outputs(carry.output()).type();
  const v1::TensorType& input = program.inputs(carry.input()).type();
  if (loaded.carry_of_input[carry.input()] >= 0) {
    return InvalidProgram("an input is in two carries", input.name());
  }
  if (!SameType(output, input)) {
    return InvalidProgram(absl::StrCat("output ", output.name(), " and input ",
                                       input.name(), " differ in type"),
                          "");
  }
  const v1::Quantization& quantization = input.quantization();
  if (quantization.scale_size() > 1 ||
      quantization.scale_size() != quantization.zero_point_size()) {
    return InvalidProgram("a carried input needs one scale, or none",
                          input.name());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status LoadCarries(LoadedProgram* loaded) {
  const v1::Program& program = loaded->program;
  loaded->carry_of_input.resize(program.inputs_size(), -1);
  // Inputs may share memory; carried values are stored apart.
  int64_t total = 0;
  for (int32_t c = 0; c < program.carries_size(); ++c) {
    const int32_t input = program.carries(c).input();
    EK_RETURN_IF_ERROR(CheckCarry(program.carries(c), *loaded),
                       absl::StrCat("carry ", c));
    const int64_t bytes = loaded->inputs[input].layout->dense_bytes();
    if (bytes > loaded->options.max_memory_bytes - total) {
      return MakeError(
          absl::StatusCode::kResourceExhausted,
          {.fault = Fault::kQuota,
           .reason = "PROGRAM_TOO_LARGE",
           .what = "the program carries too much from one "
                   "inference to the next",
           .where = absl::StrCat("carry ", c),
           .limit = absl::StrCat(loaded->options.max_memory_bytes, " bytes"),
           .fix = "use a network with smaller states"});
    }
    total += bytes;
    loaded->carry_of_input[input] = c;
    const v1::TensorType& type = program.inputs(input).type();
    const v1::Quantization& quantization = type.quantization();
    loaded->zero_states.push_back(ops::RealZero(
        type.element_type(), bytes / ops::ElementBytes(type.element_type()),
        quantization.zero_point_size() == 1 ? quantization.zero_point(0) : 0));
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::simfarm
