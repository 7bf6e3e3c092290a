#include "simfarm/simulators/access_map.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace edgekiln::simfarm {

AccessOrder::AccessOrder(int units)
    : times_(units, 0), known_(static_cast<size_t>(units) * units, 0) {
  for (int unit = 0; unit < units; ++unit) Known(unit, unit) = UINT32_MAX;
}

bool AccessOrder::KnownToAll(int unit, uint32_t time) const {
  for (int other = 0; other < units(); ++other) {
    if (known(other, unit) < time) return false;
  }
  return true;
}

void AccessOrder::Await(int unit, int other, uint32_t time) {
  Known(unit, other) = std::max(Known(unit, other), time);
}

void AccessOrder::Join(int unit, int other) {
  for (int third = 0; third < units(); ++third) {
    if (third != other) Await(unit, third, known(other, third));
  }
  Await(unit, other, time(other));
}

std::string AccessFault::What(absl::string_view other) const {
  switch (kind) {
    case Kind::kUndefined:
      return "reads a byte that nothing wrote";
    case Kind::kReadRace:
      return absl::StrCat("race: reads a byte while ", other,
                          " may still write it");
    case Kind::kWriteRace:
      return absl::StrCat("race: writes a byte while ", other,
                          " may still use it");
    case Kind::kOutside:
      return "reads or writes outside the memory";
    case Kind::kReadOnly:
      return "writes read-only memory";
  }
  return "";
}

AccessMap::AccessMap(int64_t size, const AccessOrder& order, bool tracks_reads)
    : size_(size),
      order_(order),
      tracks_reads_(tracks_reads),
      writes_(size),
      reads_(order.units()) {}

bool AccessMap::Read(int unit, int64_t begin, int64_t end, bool record,
                     AccessFault* fault) {
  int spans = 0;
  Stamp first = kNever;
  bool settled = false;
  const bool good =
      writes_.ForEach(begin, end, [&](int64_t at, int64_t, const Stamp& write) {
        if (write == kNever) {
          *fault = {.kind = AccessFault::Kind::kUndefined, .at = at};
          return false;
        }
        if (!IsOrdered(unit, write)) {
          *fault = {.kind = AccessFault::Kind::kReadRace,
                    .at = at,
                    .unit = UnitOf(write),
                    .time = TimeOf(write)};
          return false;
        }
        if (++spans == 1) {
          first = write;
        } else {
          settled =
              (spans == 2 ? IsSettled(first) : settled) && IsSettled(write);
        }
        return true;
      });
  if (!good) return false;
  // Writes that nobody can race with any more differ in nothing: later looks
  // need not tell them apart.
  if (settled) writes_.Assign(begin, end, kSettled);
  if (!record || !tracks_reads_) return true;
  Reads& reads = reads_[unit];
  if (!reads.times) reads.times.emplace(size_);
  reads.last = order_.time(unit);
  reads.times->Assign(begin, end, reads.last);
  return true;
}

bool AccessMap::FindUnorderedRead(int unit, int64_t begin, int64_t end,
                                  AccessFault* fault) const {
  for (int other = 0; other < order_.units(); ++other) {
    const Reads& reads = reads_[other];
    const uint32_t ordered = order_.known(unit, other);
    if (reads.last <= ordered) continue;
    const bool all_ordered = reads.times->ForEach(
        begin, end, [&](int64_t at, int64_t, uint32_t time) {
          if (time <= ordered) return true;
          *fault = {.kind = AccessFault::Kind::kWriteRace,
                    .at = at,
                    .unit = other,
                    .time = time};
          return false;
        });
    if (!all_ordered) return true;
  }
  return false;
}

bool AccessMap::Write(int unit, int64_t begin, int64_t end,
                      AccessFault* fault) {
  if (FindUnorderedRead(unit, begin, end, fault)) return false;
  return writes_.AssignIf(begin, end, StampOf(unit, order_.time(unit)),
                          [&](int64_t at, int64_t, const Stamp& write) {
                            if (IsOrdered(unit, write)) return true;
                            *fault = {.kind = AccessFault::Kind::kWriteRace,
                                      .at = at,
                                      .unit = UnitOf(write),
                                      .time = TimeOf(write)};
                            return false;
                          });
}

void AccessMap::Define(int64_t begin, int64_t end) {
  writes_.Assign(begin, end, kSettled);
}

int64_t AccessMap::FindReadNow(int unit, int64_t begin, int64_t end) const {
  const uint32_t now = order_.time(unit);
  const Reads& reads = reads_[unit];
  int64_t found = -1;
  if (!reads.times || reads.last != now) return found;
  reads.times->ForEach(begin, end, [&](int64_t at, int64_t, uint32_t time) {
    if (time == now) found = at;
    return found < 0;
  });
  return found;
}

int64_t AccessMap::FindUndefined(int64_t begin, int64_t end) const {
  int64_t hole = -1;
  const int64_t known_end = std::min(end, size_);
  writes_.ForEach(begin, known_end,
                  [&](int64_t at, int64_t, const Stamp& write) {
                    if (write == kNever) hole = at;
                    return hole < 0;
                  });
  if (hole < 0 && known_end < end) hole = std::max(begin, known_end);
  return hole;
}

}  // namespace edgekiln::simfarm
