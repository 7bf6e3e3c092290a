#include "simfarm/simulators/dla/timing.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "simfarm/simulators/cycle_limit.h"

namespace edgekiln::simfarm::dla {
namespace {

// Indexes into StreamTiming::units.
constexpr int32_t kComputeUnit = 0;
constexpr int32_t kDmaUnit = 1;

// A command's time on its unit.
struct Interval {
  int64_t start = 0;
  int64_t end = 0;
  int32_t word = 0;
  // What it had to wait for besides its unit: until when.
  int64_t transfer = 0;
  int64_t contention = 0;
};

// Commands complete in order, so the last one's end is the unit's.
int64_t EndOf(const std::vector<Interval>& unit, int64_t count) {
  return count == 0 ? 0 : unit[count - 1].end;
}

int64_t EndOf(const std::vector<Interval>& unit) {
  return EndOf(unit, static_cast<int64_t>(unit.size()));
}

// Cycles in which at least one of two units works. Both are in order.
int64_t BusyCycles(const std::vector<Interval>& a,
                   const std::vector<Interval>& b) {
  std::vector<Interval> all(a);
  all.insert(all.end(), b.begin(), b.end());
  std::sort(all.begin(), all.end(), [](const Interval& x, const Interval& y) {
    return x.start < y.start;
  });
  int64_t busy = 0;
  int64_t covered_to = 0;
  for (const Interval& interval : all) {
    const int64_t from = std::max(interval.start, covered_to);
    if (interval.end > from) busy += interval.end - from;
    covered_to = std::max(covered_to, interval.end);
  }
  return busy;
}

std::vector<StreamTiming::Segment> Segments(
    const std::vector<Interval>& compute, int64_t dma_end, int64_t cycles,
    int32_t last_word) {
  using Spent = StreamTiming::Spent;
  std::vector<StreamTiming::Segment> segments;
  int64_t at = 0;
  const auto add = [&](int64_t end, int32_t word, Spent spent) {
    if (end > at) segments.push_back({end, word, spent});
    at = std::max(at, end);
  };
  for (const Interval& interval : compute) {
    add(interval.transfer, interval.word, Spent::kTransfer);
    add(interval.contention, interval.word, Spent::kContention);
    add(interval.start, interval.word, Spent::kControl);
    add(interval.end, interval.word, Spent::kComputing);
  }
  add(dma_end, last_word, Spent::kTransfer);
  add(cycles, last_word, Spent::kControl);
  return segments;
}

StreamTiming::Kind KindOf(const Instruction& instruction) {
  if (!instruction.is_dma()) return StreamTiming::Kind::kCompute;
  return instruction.command == DlaCommand::kDmaRead
             ? StreamTiming::Kind::kRead
             : StreamTiming::Kind::kWrite;
}

StreamTiming::Transfer TransferOf(const Instruction& instruction) {
  const int64_t bytes = instruction[DlaRegister::kDmaRows] *
                        instruction[DlaRegister::kDmaRowBytes];
  StreamTiming::Transfer transfer{.word = instruction.word};
  (instruction.command == DlaCommand::kDmaRead ? transfer.bytes_read
                                               : transfer.bytes_written) =
      bytes;
  return transfer;
}

}  // namespace

absl::StatusOr<StreamTiming> TimeStream(const DecodedStream& stream,
                                        const v1::Machine::Engine& engine,
                                        bool blocking) {
  std::vector<Interval> compute;
  std::vector<Interval> dma;
  StreamTiming timing;
  timing.units = {"compute", "dma"};
  timing.work.reserve(stream.instructions.size());
  int64_t front_end = 0;
  for (const Instruction& instruction : stream.instructions) {
    std::vector<Interval>& own = instruction.is_dma() ? dma : compute;
    const std::vector<Interval>& other = instruction.is_dma() ? compute : dma;
    front_end += instruction.front_end_cycles;
    const int64_t issued = static_cast<int64_t>(own.size());
    if (issued >= engine.queue_depth()) {
      // Full until the command that many places ahead starts.
      front_end = std::max(front_end, own[issued - engine.queue_depth()].start);
    }
    const int64_t awaited = EndOf(other, instruction.wait);
    const int64_t contention = blocking ? EndOf(other) : 0;
    const int64_t start =
        std::max({front_end, EndOf(own), awaited, contention});
    if (start > kMaxCycles - instruction.occupancy_cycles) {
      return TooManyCycles();
    }
    const int64_t end = start + instruction.occupancy_cycles;
    own.push_back({start, end, instruction.word, awaited, contention});
    timing.work.push_back({start, end, instruction.word,
                           instruction.is_dma() ? kDmaUnit : kComputeUnit,
                           KindOf(instruction)});
    if (instruction.is_dma()) {
      timing.transfers.push_back(TransferOf(instruction));
    }
  }
  front_end += stream.end_front_end_cycles;
  timing.cycles = std::max({front_end, EndOf(compute), EndOf(dma)});
  timing.busy_cycles = BusyCycles(compute, dma);
  const int32_t last_word = stream.instructions.empty()
                                ? stream.num_words - 1
                                : stream.instructions.back().word;
  timing.segments = Segments(compute, EndOf(dma), timing.cycles, last_word);
  return timing;
}

}  // namespace edgekiln::simfarm::dla
