#ifndef EK_TESTING_TINY_VECTOR_MODEL_H_
#define EK_TESTING_TINY_VECTOR_MODEL_H_

// The engine model TINY_VECTOR (testing/tiny_vector/tiny_vector.md): what its
// back end and its simulator share, and which descriptors are legal for it.

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "edgekiln/v1/target.pb.h"
#include "target/engine_model.h"

namespace edgekiln::target::tiny_vector {

// Section 3 of the page.
enum class Register {
  kSystemAddress,
  kSystemPitch,
  kPieces,
  kPieceBytes,
  kA,
  kB,
  kVectors,
  kAZero,
  kBZero,
  kOutZero,
  kAMultiplier,
  kAShift,
  kBMultiplier,
  kBShift,
  kOutMultiplier,
  kOutShift,
  kClampMin,
  kClampMax,
};
inline constexpr int kNumRegisters = 18;

// Section 4.
enum class Command { kSet, kEnd, kLoadA, kLoadB, kStore, kFill, kMax, kAdd };
inline constexpr int kNumCommands = 8;

// Words of a stream: what the engine's instruction counter holds.
inline constexpr int64_t kMaxWords = int64_t{1} << 19;
// Of the operands of an addition.
inline constexpr int kLeftShift = 20;

absl::string_view RegisterName(Register reg);
absl::string_view CommandName(Command command);
std::optional<Register> FindRegister(absl::string_view name);
std::optional<Command> FindCommand(absl::string_view mnemonic);
// Registers that the command depends on.
absl::Span<const Register> Reads(Command command);
// Commands that move bytes; all others but kSet and kEnd compute.
bool IsTransfer(Command command);

// The memories of an engine that passed ValidateEngine().
struct Banks {
  int32_t a = 0;  // Indices into Machine.memories.
  int32_t b = 0;
  int64_t lanes = 0;  // Bytes of a vector.
};
Banks BanksOf(const v1::Machine& machine, int32_t engine);

const EngineModel& Model();

}  // namespace edgekiln::target::tiny_vector

#endif  // EK_TESTING_TINY_VECTOR_MODEL_H_
