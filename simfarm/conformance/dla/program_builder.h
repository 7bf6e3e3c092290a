#ifndef EK_SIMFARM_CONFORMANCE_DLA_PROGRAM_BUILDER_H_
#define EK_SIMFARM_CONFORMANCE_DLA_PROGRAM_BUILDER_H_

// Places operands, knows who wrote and read every byte of SRAM, and so writes
// only commands that keep the rules of docs/targets/dla.md.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/rng.h"
#include "simfarm/conformance/dla/dla_case.h"
#include "simfarm/conformance/dla/stream_writer.h"

namespace edgekiln::simfarm::conformance::dla {

// Bytes of SRAM, end excluded.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;
};

// A tensor in SRAM.
struct View {
  int64_t h = 1, w = 1, c = 1, size = 1;
  int64_t pixel_pitch = 1, row_pitch = 1;
  int64_t address = 0;

  int64_t bytes() const {
    return (h - 1) * row_pitch + (w - 1) * pixel_pitch + c * size;
  }
  Range range() const { return {address, address + bytes()}; }
  bool dense_rows() const { return pixel_pitch == c * size; }
};

// Not thread-safe.
class ProgramBuilder {
 public:
  // `rng` must outlive this object.
  ProgramBuilder(const DlaChip& chip, Rng& rng);

  bool Chance(int percent) { return rng_.InRange(1, 100) <= percent; }
  int64_t Pick(int64_t low, int64_t high) { return rng_.InRange(low, high); }
  int64_t RandomInt8() { return Pick(-128, 127); }
  int64_t RandomMultiplier();

  // Forgets the operands of the previous command.
  void BeginCommand() { operands_.clear(); }
  // Writes the register if it holds another value, and sometimes if not.
  void Set(DlaIndex reg, int64_t value);
  // Dense, or with gaps.
  void RandomPitches(View& view);
  // An operand somewhere in SRAM, holding values. False if there is no room.
  bool AddOperand(View& view, int64_t align);
  // A table of usable entries; sets its address.
  bool AddTable(int64_t channels);
  // The same for weights.
  bool AddWeights(int64_t bytes);
  // A place for `bytes` that avoids the operands chosen so far.
  std::optional<int64_t> Place(int64_t bytes, int64_t align);
  // Sends a tensor, or its first pixel, to RAM.
  void Store(const View& view);
  // Sends the first byte that was ever written.
  void StoreSomething();
  // Reads all operands and writes `output`, pixel by pixel.
  void IssueCompute(DlaOpcode opcode, const View& output, bool half_even);

  // OP_END, and the whole.
  DlaCase Finish();

 private:
  // What happened to a byte: numbers of commands, from 1 per unit.
  struct ByteHistory {
    int64_t compute_write = 0, compute_read = 0;
    int64_t dma_write = 0, dma_read = 0;
    bool written() const { return compute_write > 0 || dma_write > 0; }
  };

  void AppendTableEntry();
  bool Written(const Range& range) const;
  // Commands of the other unit that a command must wait for.
  int64_t NeededWait(bool dma, const std::vector<Range>& reads,
                     const std::vector<Range>& writes) const;
  // Brings `bytes` bytes from a random place, as one row or several.
  void Load(int64_t address, int64_t bytes, bool table);
  // The command, with a wait that suffices for what it reads and writes.
  void Issue(DlaOpcode opcode, const std::vector<Range>& reads,
             const std::vector<Range>& writes, bool half_even = false);
  static std::vector<Range> PixelsOf(const View& view);
  char RandomByte() { return static_cast<char>(rng_.Below(256)); }

  Rng& rng_;
  DlaCase case_;
  StreamWriter writer_;
  std::vector<ByteHistory> history_;
  std::vector<Range> operands_;  // Of the command being made.
};

}  // namespace edgekiln::simfarm::conformance::dla

#endif  // EK_SIMFARM_CONFORMANCE_DLA_PROGRAM_BUILDER_H_
