#ifndef EK_TESTING_TINY_VECTOR_COMPILER_CODE_WRITER_H_
#define EK_TESTING_TINY_VECTOR_COMPILER_CODE_WRITER_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "edgekiln/v1/target.pb.h"
#include "target/command_timing.h"
#include "target/isa_view.h"
#include "testing/tiny_vector/model.h"

namespace edgekiln::compiler::tiny_vector {

// A stream while it is written, and what it takes: section 5 of the page.
// Writes a register where its value changes; SYSTEM_ADDR always, so that cycles
// do not depend on where tensors lie.
class CodeWriter {
 public:
  static absl::StatusOr<CodeWriter> Create(const v1::Machine& machine,
                                           int32_t engine);

  // The value that the next commands find. INTERNAL if it does not fit.
  absl::Status Set(target::tiny_vector::Register reg, int64_t value);
  // Of all registers that it reads, the last Set(). RESOURCE_EXHAUSTED if the
  // stream is longer than the engine counts.
  absl::Status Run(target::tiny_vector::Command command);

  int64_t words() const { return words_; }
  int64_t cycles() const { return cycles_; }  // Of the engine's clock.
  std::string TakeCode() { return std::move(code_); }

 private:
  CodeWriter(target::IsaView isa, target::CommandTiming timing);
  absl::Status Append(const target::CommandWord& word);

  target::IsaView isa_;
  target::CommandTiming timing_;
  std::string code_;
  int64_t words_ = 0;
  int64_t cycles_ = 0;
  // By Register: position in the instruction set, and the last value.
  std::array<int32_t, target::tiny_vector::kNumRegisters> position_;
  std::array<std::optional<int64_t>, target::tiny_vector::kNumRegisters> value_;
  std::vector<int64_t> registers_;  // In the order of the instruction set.
};

}  // namespace edgekiln::compiler::tiny_vector

#endif  // EK_TESTING_TINY_VECTOR_COMPILER_CODE_WRITER_H_
