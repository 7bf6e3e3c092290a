#include "simfarm/conformance/dla/stream_writer.h"

namespace edgekiln::simfarm::conformance::dla {

void StreamWriter::Set(DlaIndex reg, int64_t value) {
  if (registers_[reg] != value) Write(reg, value);
}

void StreamWriter::Write(DlaIndex reg, int64_t value) {
  registers_[reg] = value;
  AppendWord(kRegWrite, reg, static_cast<uint32_t>(value));
}

int32_t StreamWriter::Command(DlaOpcode opcode, int64_t wait, Values values,
                              bool half_even) {
  for (const auto& [reg, value] : values) Set(reg, value);
  const bool dma = opcode == kDmaRead || opcode == kDmaWrite;
  (dma ? issued_dma_ : issued_compute_) += 1;
  AppendWord(opcode, 0, static_cast<uint32_t>(wait), half_even);
  return words() - 1;
}

int32_t StreamWriter::End() {
  AppendWord(kEnd, 0, 0);
  return words() - 1;
}

void StreamWriter::AppendWord(uint64_t opcode, uint64_t index,
                              uint32_t immediate, bool half_even) {
  const uint64_t word = opcode | index << 8 | uint64_t{half_even} << 16 |
                        static_cast<uint64_t>(immediate) << 32;
  for (int i = 0; i < 8; ++i) {
    code_.push_back(static_cast<char>(word >> (8 * i) & 0xff));
  }
}

}  // namespace edgekiln::simfarm::conformance::dla
