#ifndef EK_SIMFARM_CONFORMANCE_DLA_STREAM_WRITER_H_
#define EK_SIMFARM_CONFORMANCE_DLA_STREAM_WRITER_H_

// Writes DLA command streams for tests, without the compiler's encoder.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "simfarm/conformance/dla/dla_words.h"

namespace edgekiln::simfarm::conformance::dla {

// Not thread-safe.
class StreamWriter {
 public:
  using Values = std::initializer_list<std::pair<DlaIndex, int64_t>>;

  // A register write, unless the register holds the value already.
  void Set(DlaIndex reg, int64_t value);
  // A register write in any case.
  void Write(DlaIndex reg, int64_t value);
  // Sets registers, then the command. Returns the index of its word.
  int32_t Command(DlaOpcode opcode, int64_t wait, Values values = {},
                  bool half_even = false);
  // OP_END. Returns the index of its word.
  int32_t End();

  int32_t words() const { return static_cast<int32_t>(code_.size() / 8); }
  // Commands issued to each unit so far.
  int64_t issued_compute() const { return issued_compute_; }
  int64_t issued_dma() const { return issued_dma_; }
  const std::string& code() const { return code_; }

 private:
  void AppendWord(uint64_t opcode, uint64_t index, uint32_t immediate,
                  bool half_even = false);

  std::string code_;
  std::array<std::optional<int64_t>, kRegisters> registers_;
  int64_t issued_compute_ = 0;
  int64_t issued_dma_ = 0;
};

}  // namespace edgekiln::simfarm::conformance::dla

#endif  // EK_SIMFARM_CONFORMANCE_DLA_STREAM_WRITER_H_
