#include "simfarm/conformance/dla/program_builder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "simfarm/conformance/dla/dla_words.h"

namespace edgekiln::simfarm::conformance::dla {
namespace {

constexpr int64_t kDataBytes = 2048;   // Random bytes at the start of flash.
constexpr int64_t kTableEntries = 64;  // Usable table entries behind them.
constexpr int64_t kRamBytes = 1024;

bool Overlap(const Range& a, const Range& b) {
  return a.begin < b.end && b.begin < a.end;
}

}  // namespace

ProgramBuilder::ProgramBuilder(const DlaChip& chip, Rng& rng)
    : rng_(rng), history_(chip.sram_bytes) {
  case_.chip = chip;
  for (int64_t i = 0; i < kDataBytes; ++i) case_.flash.push_back(RandomByte());
  for (int64_t i = 0; i < kTableEntries; ++i) AppendTableEntry();
  for (int64_t i = 0; i < kRamBytes; ++i) case_.ram.push_back(RandomByte());
}

int64_t ProgramBuilder::RandomMultiplier() {
  if (Chance(5)) return 0;
  // Results in the middle between two steps.
  if (Chance(30)) return int64_t{1} << Pick(26, 30);
  return Chance(10) ? Pick(0, INT32_MAX) : Pick(1 << 30, INT32_MAX);
}

void ProgramBuilder::AppendTableEntry() {
  const int64_t bias =
      Chance(10) ? Pick(INT32_MIN, INT32_MAX) : Pick(-5000, 5000);
  const int64_t shift = Chance(10) ? Pick(-31, 30) : Pick(-12, 0);
  for (const int64_t value : {bias, RandomMultiplier(), shift}) {
    const int32_t word = static_cast<int32_t>(value);
    char bytes[4];
    std::memcpy(bytes, &word, 4);
    case_.flash.append(bytes, 4);
  }
}

void ProgramBuilder::Set(DlaIndex reg, int64_t value) {
  if (Chance(4)) {
    writer_.Write(reg, value);
  } else {
    writer_.Set(reg, value);
  }
}

std::optional<int64_t> ProgramBuilder::Place(int64_t bytes, int64_t align) {
  for (int attempt = 0; attempt < 60; ++attempt) {
    if (bytes > case_.chip.sram_bytes) break;
    int64_t address = Pick(0, case_.chip.sram_bytes - bytes);
    address -= address % align;
    const Range range{address, address + bytes};
    if (std::none_of(operands_.begin(), operands_.end(),
                     [&](const Range& o) { return Overlap(o, range); })) {
      return address;
    }
  }
  return std::nullopt;
}

void ProgramBuilder::RandomPitches(View& view) {
  view.pixel_pitch = view.c * view.size;
  if (Chance(30)) view.pixel_pitch += Pick(1, 4) * view.size;
  view.row_pitch = view.w * view.pixel_pitch;
  if (Chance(30)) view.row_pitch += Pick(1, 9) * view.size;
}

bool ProgramBuilder::Written(const Range& range) const {
  return std::all_of(history_.begin() + range.begin,
                     history_.begin() + range.end,
                     [](const ByteHistory& b) { return b.written(); });
}

int64_t ProgramBuilder::NeededWait(bool dma, const std::vector<Range>& reads,
                                   const std::vector<Range>& writes) const {
  int64_t wait = 0;
  for (const Range& range : reads) {
    for (int64_t at = range.begin; at < range.end; ++at) {
      const ByteHistory& byte = history_[at];
      wait = std::max(wait, dma ? byte.compute_write : byte.dma_write);
    }
  }
  for (const Range& range : writes) {
    for (int64_t at = range.begin; at < range.end; ++at) {
      const ByteHistory& byte = history_[at];
      wait = std::max({wait, dma ? byte.compute_write : byte.dma_write,
                       dma ? byte.compute_read : byte.dma_read});
    }
  }
  return wait;
}

void ProgramBuilder::Issue(DlaOpcode opcode, const std::vector<Range>& reads,
                           const std::vector<Range>& writes, bool half_even) {
  const bool dma = opcode == kDmaRead || opcode == kDmaWrite;
  const int64_t issued = dma ? writer_.issued_compute() : writer_.issued_dma();
  int64_t wait = NeededWait(dma, reads, writes);
  if (Chance(25)) wait = Pick(wait, issued);
  writer_.Command(opcode, wait, {}, half_even);
  const int64_t number = dma ? writer_.issued_dma() : writer_.issued_compute();
  for (const Range& range : reads) {
    for (int64_t at = range.begin; at < range.end; ++at) {
      (dma ? history_[at].dma_read : history_[at].compute_read) = number;
    }
  }
  for (const Range& range : writes) {
    for (int64_t at = range.begin; at < range.end; ++at) {
      (dma ? history_[at].dma_write : history_[at].compute_write) = number;
    }
  }
}

void ProgramBuilder::Load(int64_t address, int64_t bytes, bool table) {
  int64_t rows = 1;
  for (const int64_t candidate : {2, 3, 5}) {
    if (!table && bytes % candidate == 0 && Chance(30)) rows = candidate;
  }
  const int64_t row_bytes = bytes / rows;
  int64_t pitch = Pick(0, row_bytes + 8);
  const int64_t extent = (rows - 1) * pitch + row_bytes;
  int64_t system = 0;
  if (table) {
    system = kDataBytes + 12 * Pick(0, kTableEntries - bytes / 12);
  } else if (Chance(50) || extent > kRamBytes) {
    system = Pick(0, kDataBytes - extent);
  } else {
    system = static_cast<int64_t>(kRamBase) + Pick(0, kRamBytes - extent);
  }
  Set(kDmaSystemAddr, system);
  Set(kDmaSramAddr, address);
  Set(kDmaRowBytes, row_bytes);
  Set(kDmaRows, rows);
  if (rows > 1) {
    Set(kDmaSystemPitch, pitch);
    Set(kDmaSramPitch, row_bytes);
  }
  Issue(kDmaRead, {}, {{address, address + bytes}});
}

bool ProgramBuilder::AddOperand(View& view, int64_t align) {
  const auto address = Place(view.bytes(), align);
  if (!address) return false;
  view.address = *address;
  if (!Written(view.range()) || Chance(50)) {
    Load(view.address, view.bytes(), false);
  }
  operands_.push_back(view.range());
  return true;
}

bool ProgramBuilder::AddTable(int64_t channels) {
  const auto address = Place(12 * channels, 4);
  if (!address) return false;
  Load(*address, 12 * channels, true);
  operands_.push_back({*address, *address + 12 * channels});
  Set(kTableAddr, *address);
  return true;
}

bool ProgramBuilder::AddWeights(int64_t bytes) {
  View weights{.c = bytes};
  if (!AddOperand(weights, 1)) return false;
  Set(kWeightAddr, weights.address);
  return true;
}

std::vector<Range> ProgramBuilder::PixelsOf(const View& view) {
  std::vector<Range> pixels;
  for (int64_t y = 0; y < view.h; ++y) {
    for (int64_t x = 0; x < view.w; ++x) {
      const int64_t at =
          view.address + y * view.row_pitch + x * view.pixel_pitch;
      pixels.push_back({at, at + view.c * view.size});
    }
  }
  return pixels;
}

void ProgramBuilder::Store(const View& view) {
  const int64_t row_bytes =
      view.dense_rows() ? view.w * view.pixel_pitch : view.c * view.size;
  const int64_t rows = view.dense_rows() ? view.h : 1;
  const int64_t pitch = row_bytes + Pick(0, 5);
  const int64_t extent = (rows - 1) * pitch + row_bytes;
  if (extent > kRamBytes) return;
  Set(kDmaSystemAddr,
      static_cast<int64_t>(kRamBase) + Pick(0, kRamBytes - extent));
  Set(kDmaSramAddr, view.address);
  Set(kDmaRowBytes, row_bytes);
  Set(kDmaRows, rows);
  std::vector<Range> reads;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t at = view.address + row * view.row_pitch;
    reads.push_back({at, at + row_bytes});
  }
  if (rows > 1) {
    Set(kDmaSystemPitch, pitch);
    Set(kDmaSramPitch, view.row_pitch);
  }
  Issue(kDmaWrite, reads, {});
}

void ProgramBuilder::StoreSomething() {
  for (int64_t at = 0; at < case_.chip.sram_bytes; ++at) {
    if (!history_[at].written()) continue;
    Store({.address = at});
    return;
  }
}

void ProgramBuilder::IssueCompute(DlaOpcode opcode, const View& output,
                                  bool half_even) {
  Issue(opcode, operands_, PixelsOf(output), half_even);
}

DlaCase ProgramBuilder::Finish() {
  writer_.End();
  case_.code = writer_.code();
  return std::move(case_);
}

}  // namespace edgekiln::simfarm::conformance::dla
