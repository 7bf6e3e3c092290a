#ifndef EK_SIMFARM_SIMULATORS_SPAN_MAP_H_
#define EK_SIMFARM_SIMULATORS_SPAN_MAP_H_

// A value for every byte of a memory, kept once per span of equal bytes: what
// commands touch are whole tensors, rows and pixels, never bytes at random.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "simfarm/simulators/lazy_bytes.h"

namespace edgekiln::simfarm {

// A set of positions in [0, size) that finds neighbours in a few steps: bits,
// and above them, level by level, a bit for every word that is not zero.
class PositionSet {
 public:
  explicit PositionSet(int64_t size);

  bool Contains(int64_t position) const {
    return (levels_[0][position >> 6] >> (position & 63) & 1) != 0;
  }
  void Add(int64_t position) {
    uint64_t& word = levels_[0][position >> 6];
    const bool known = word != 0;
    word |= uint64_t{1} << (position & 63);
    if (!known) AddAbove(position >> 6);
  }
  void Remove(int64_t position) {
    uint64_t& word = levels_[0][position >> 6];
    word &= ~(uint64_t{1} << (position & 63));
    if (word == 0) RemoveAbove(position >> 6);
  }
  // The nearest one; -1 and `size` if there is none. Mostly it is near.
  int64_t AtOrBefore(int64_t position) const {
    if (position < 0) return -1;
    const uint64_t below =
        levels_[0][position >> 6] & (~uint64_t{0} >> (63 - (position & 63)));
    if (below == 0) return Before(position >> 6);
    return (position | 63) - __builtin_clzll(below);
  }
  int64_t AtOrAfter(int64_t position) const {
    if (position >= size_) return size_;
    const uint64_t above =
        levels_[0][position >> 6] & (~uint64_t{0} << (position & 63));
    if (above == 0) return After(position >> 6);
    return (position & ~int64_t{63}) + __builtin_ctzll(above);
  }

 private:
  // The same from level 1 up, of a word of level 0: its first position or the
  // last was added or removed; the nearest position below or above it.
  void AddAbove(int64_t word);
  void RemoveAbove(int64_t word);
  int64_t Before(int64_t word) const;
  int64_t After(int64_t word) const;

  int64_t size_;
  std::vector<LazyBytes> storage_;  // Of the levels.
  std::vector<uint64_t*> levels_;
};

// `State` is trivially copyable, comparable, and all zero bits at first.
// Memory: sizeof(State) per byte of the range, untouched as long as spans are
// long. Not thread-safe.
template <typename State>
class SpanMap {
 public:
  // Of [0, size), size >= 0.
  explicit SpanMap(int64_t size)
      : size_(size),
        begins_(size),
        storage_(LazyBytes::Unset(size * static_cast<int64_t>(sizeof(State)))),
        states_(reinterpret_cast<State*>(storage_.data())) {
    if (size == 0) return;
    std::memset(storage_.data(), 0, sizeof(State));
    begins_.Add(0);
  }

  int64_t size() const { return size_; }

  // Calls visit(begin, end, state) for the spans of [begin, end), in order,
  // until it returns false; the same is returned.
  template <typename Visit>
  bool ForEach(int64_t begin, int64_t end, const Visit& visit) const {
    if (begin >= end) return true;
    int64_t span = begins_.AtOrBefore(begin);
    while (begin < end) {
      const int64_t next = begins_.AtOrAfter(begin + 1);
      if (!visit(begin, next < end ? next : end, states_[span])) return false;
      begin = span = next;
    }
    return true;
  }

  void Assign(int64_t begin, int64_t end, const State& state) {
    AssignIf(begin, end, state,
             [](int64_t, int64_t, const State&) { return true; });
  }

  // ForEach() and, if it returns true, Assign(): in one go, as they look at the
  // same spans.
  template <typename Visit>
  bool AssignIf(int64_t begin, int64_t end, const State& state,
                const Visit& visit) {
    if (begin >= end) return true;
    const int64_t first = begins_.AtOrBefore(begin);
    int64_t span = first;
    int64_t next = begins_.AtOrAfter(begin + 1);
    int64_t at = begin;
    while (true) {
      if (!visit(at, next < end ? next : end, states_[span])) return false;
      if (next >= end) break;
      at = span = next;
      next = begins_.AtOrAfter(next + 1);
    }
    // What follows keeps its state, unless it is the same now.
    if (next > end) {
      if (!(states_[span] == state)) {
        states_[end] = states_[span];
        begins_.Add(end);
      }
    } else if (end < size_ && states_[end] == state) {
      begins_.Remove(end);
    }
    while (span > first) {
      begins_.Remove(span);
      span = begins_.AtOrBefore(span - 1);
    }
    Begin(begin, first, state);
    return true;
  }

  // Replaces the state of every byte of [begin, end) by update(state).
  template <typename Update>
  void Transform(int64_t begin, int64_t end, const Update& update) {
    if (begin >= end) return;
    Split(begin);
    Split(end);
    for (int64_t at = begin; at < end;) {
      states_[at] = update(states_[at]);
      const int64_t next = begins_.AtOrAfter(at + 1);
      Join(at);
      at = next;
    }
    Join(end);
  }

 private:
  // Makes a span begin at `at`.
  void Split(int64_t at) {
    if (at >= size_ || begins_.Contains(at)) return;
    states_[at] = states_[begins_.AtOrBefore(at)];
    begins_.Add(at);
  }

  // Gives what begins at `at` its state: a span of its own, unless it is that
  // of the bytes before. `span` covers `at` so far.
  void Begin(int64_t at, int64_t span, const State& state) {
    const int64_t before = span < at ? span : begins_.AtOrBefore(at - 1);
    if (before >= 0 && states_[before] == state) {
      if (span == at) begins_.Remove(at);
      return;
    }
    states_[at] = state;
    if (span != at) begins_.Add(at);
  }

  // Joins the span that begins at `at` with the one before, if they are equal.
  void Join(int64_t at) {
    if (at <= 0 || at >= size_ || !begins_.Contains(at)) return;
    if (states_[begins_.AtOrBefore(at - 1)] == states_[at]) begins_.Remove(at);
  }

  int64_t size_;
  PositionSet begins_;  // Where spans begin.
  LazyBytes storage_;
  State* states_;  // Of the span that begins there; elsewhere without meaning.
};

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SIMULATORS_SPAN_MAP_H_
