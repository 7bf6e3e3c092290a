#ifndef EK_SIMFARM_SIMULATORS_ACCESS_MAP_H_
#define EK_SIMFARM_SIMULATORS_ACCESS_MAP_H_

// Who wrote and read the bytes of one memory last, and when. Finds reads of
// bytes that nothing wrote and races: two accesses without order between them,
// one of which is a write.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "simfarm/simulators/span_map.h"

namespace edgekiln::simfarm {

// What is ordered after what. A unit (a DMA, the host) does one thing after
// another; its times are the numbers of these things, from 1 upwards. Units
// know of each other only what they were told here. Not thread-safe.
class AccessOrder {
 public:
  static constexpr int kMaxUnits = 255;
  static constexpr uint32_t kMaxTime = (1u << 24) - 1;

  // At time 0, where everything is known to everybody. 1 to kMaxUnits.
  explicit AccessOrder(int units);

  int units() const { return static_cast<int>(times_.size()); }
  uint32_t time(int unit) const { return times_[unit]; }
  // The last time of `other` that `unit` is ordered after; of itself: any.
  uint32_t known(int unit, int other) const {
    return known_[unit * units() + other];
  }
  // True if every unit is ordered after `time` of `unit`.
  bool KnownToAll(int unit, uint32_t time) const;

  // What `unit` does from now on happens at `time`, which never decreases.
  void Begin(int unit, uint32_t time) { times_[unit] = time; }
  // `unit` waits until `other` has completed `time`. What `other` had waited
  // for is not passed on.
  void Await(int unit, int other, uint32_t time);
  // `unit` waits for everything that `other` did so far or had waited for.
  void Join(int unit, int other);

 private:
  uint32_t& Known(int unit, int other) {
    return known_[unit * units() + other];
  }

  std::vector<uint32_t> times_;
  std::vector<uint32_t> known_;  // By unit, then by the other.
};

// What is wrong with an access.
struct AccessFault {
  enum class Kind {
    kUndefined,  // Reads what nothing wrote.
    kReadRace,   // Reads what another unit may still write.
    kWriteRace,  // Writes what another unit may still read or write.
    // Detected by ChipMemory, which knows the memories.
    kOutside,   // There is no such memory, or the bytes leave it.
    kReadOnly,  // Writes what has its content from the start.
  };
  Kind kind = Kind::kUndefined;
  int64_t at = 0;  // The first such byte.
  // Of a race: who may be at work there, on what.
  int unit = 0;
  uint32_t time = 0;

  bool race() const {
    return kind == Kind::kReadRace || kind == Kind::kWriteRace;
  }
  // "race: reads a byte while `other` may still write it".
  std::string What(absl::string_view other) const;
};

// One memory in one run. Not thread-safe.
class AccessMap {
 public:
  // Of bytes [0, size), none of which was written. `order` must outlive this.
  // Without `tracks_reads` no write can be found to race with a read.
  AccessMap(int64_t size, const AccessOrder& order, bool tracks_reads = true);

  int64_t size() const { return size_; }

  // `unit` touches [begin, end) now. Only reads that are recorded are compared
  // with later writes. False: *fault says why, and nothing is recorded.
  bool Read(int unit, int64_t begin, int64_t end, bool record,
            AccessFault* fault);
  bool Write(int unit, int64_t begin, int64_t end, AccessFault* fault);
  // [begin, end) was written before anybody began.
  void Define(int64_t begin, int64_t end);

  // The first byte of [begin, end) that `unit` has read at its present time, as
  // far as recorded, or -1.
  int64_t FindReadNow(int unit, int64_t begin, int64_t end) const;
  // The first byte of [begin, end) that nothing wrote, or -1. What lies beyond
  // the memory was never written.
  int64_t FindUndefined(int64_t begin, int64_t end) const;

 private:
  // 1 + unit in the low byte, time above.
  using Stamp = uint32_t;
  static constexpr Stamp kNever = 0;
  // Of unit 0 at time 0, which everybody knows.
  static constexpr Stamp kSettled = 1;
  static Stamp StampOf(int unit, uint32_t time) {
    return time << 8 | static_cast<uint32_t>(unit + 1);
  }
  static int UnitOf(Stamp stamp) { return static_cast<int>(stamp & 0xff) - 1; }
  static uint32_t TimeOf(Stamp stamp) { return stamp >> 8; }
  // Time 0 is before everything; kNever belongs to no unit.
  bool IsOrdered(int unit, Stamp stamp) const {
    return TimeOf(stamp) == 0 ||
           TimeOf(stamp) <= order_.known(unit, UnitOf(stamp));
  }

  bool IsSettled(Stamp stamp) const {
    return order_.KnownToAll(UnitOf(stamp), TimeOf(stamp));
  }
  bool FindUnorderedRead(int unit, int64_t begin, int64_t end,
                         AccessFault* fault) const;

  // The last recorded reads of one unit, by byte; 0: none.
  struct Reads {
    std::optional<SpanMap<uint32_t>> times;  // As soon as there is one.
    uint32_t last = 0;                       // The latest of all.
  };

  int64_t size_;
  const AccessOrder& order_;
  bool tracks_reads_;
  SpanMap<Stamp> writes_;
  std::vector<Reads> reads_;  // By unit.
};

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SIMULATORS_ACCESS_MAP_H_
