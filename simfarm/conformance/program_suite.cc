#include "simfarm/conformance/program_suite.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "base/digest.h"
#include "gtest/gtest.h"

namespace edgekiln::simfarm::conformance {
namespace {

using Step = v1::Program::Step;

// Where bits of a program can be flipped.
class Mutator {
 public:
  Mutator(ProgramCase& program, Rng& rng) : program_(program), rng_(rng) {}

  void FlipOne() {
    const uint64_t what = rng_.Below(8);
    if (what < 3) return FlipConstants();
    Step& step = *program_.program.mutable_steps(static_cast<int>(
        rng_.Below(static_cast<uint64_t>(program_.program.steps_size()))));
    if (step.has_register_writes()) Flip(*step.mutable_register_writes());
    if (step.has_move()) Flip(*step.mutable_move());
    if (step.has_poll()) Flip(*step.mutable_poll());
  }

 private:
  // Small bits matter most.
  uint32_t Bit() {
    return uint32_t{1} << rng_.Below(rng_.Below(2) == 0 ? 32 : 8);
  }

  void FlipConstants() {
    std::string& bytes = program_.constants;
    if (bytes.empty()) return;
    const uint64_t bit = rng_.Below(bytes.size() * 8);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << (bit % 8));
    const Digest digest = DigestOf(bytes);
    for (auto& segment : *program_.program.mutable_segments()) {
      segment.mutable_digest()->set_hash(digest.hash);
    }
  }
  void Flip(v1::Program::RegisterWrites& writes) {
    if (writes.has_record() && rng_.Below(3) != 0) {
      return Flip(*writes.mutable_record());
    }
    auto& write = *writes.mutable_writes(static_cast<int>(
        rng_.Below(static_cast<uint64_t>(writes.writes_size()))));
    if (rng_.Below(8) == 0) {
      write.set_offset(write.offset() ^ Bit());
    } else {
      write.set_value(write.value() ^ Bit());
    }
  }
  void Flip(v1::Program::RegisterWrites::Record& record) {
    const uint64_t what = rng_.Below(12);
    v1::Location& location = *record.mutable_location();
    if (what == 0) location.set_memory(location.memory() ^ 1 << rng_.Below(3));
    if (what == 1) location.set_address(location.address() ^ Bit());
    if (what < 2) return;
    const auto word = static_cast<int>(
        rng_.Below(static_cast<uint64_t>(record.words_size())));
    record.set_words(word, record.words(word) ^ Bit());
  }
  void Flip(v1::Program::Move& move) {
    auto& end = rng_.Below(2) == 0 ? *move.mutable_from() : *move.mutable_to();
    const auto few = [this] { return 1 << rng_.Below(3); };
    switch (rng_.Below(8)) {
      case 0:
        end.set_memory(end.memory() ^ few());
        break;
      case 1:
        move.set_from_layout(move.from_layout() ^ few());
        break;
      case 2:
        move.set_to_layout(move.to_layout() ^ few());
        break;
      case 3:
        move.set_link(move.link() ^ few());
        break;
      default:
        end.set_address(end.address() ^ Bit());
    }
  }
  void Flip(v1::Program::Poll& poll) {
    switch (rng_.Below(3)) {
      case 0:
        poll.set_offset(poll.offset() ^ Bit());
        break;
      case 1:
        poll.set_mask(poll.mask() ^ Bit());
        break;
      default:
        poll.set_value(poll.value() ^ Bit());
    }
  }

  ProgramCase& program_;
  Rng& rng_;
};

bool Meet(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b) {
  auto at = b.begin();
  for (const uint64_t byte : a) {
    at = std::lower_bound(at, b.end(), byte);
    if (at == b.end()) return false;
    if (*at == byte) return true;
  }
  return false;
}

// By step, the steps that must come before it.
using Dependencies = std::vector<std::vector<int>>;

Dependencies DependenciesOf(const std::vector<StepTrace>& trace) {
  const auto size = static_cast<int>(trace.size());
  Dependencies before(trace.size());
  for (int i = 0; i < size; ++i) {
    // What a job does lasts until its engine is polled.
    int end = i;
    if (trace[i].engine >= 0 && !trace[i].polls) {
      while (end + 1 < size &&
             !(trace[end].polls && trace[end].engine == trace[i].engine)) {
        ++end;
      }
    }
    for (int j = i + 1; j < size; ++j) {
      const bool one_engine =
          trace[i].engine >= 0 && trace[i].engine == trace[j].engine;
      if (one_engine) before[j].push_back(i);
      if (Meet(trace[i].writes, trace[j].writes) ||
          Meet(trace[i].writes, trace[j].reads) ||
          Meet(trace[i].reads, trace[j].writes)) {
        before[j].push_back(end < j ? end : i);
      }
    }
  }
  return before;
}

// A random order that keeps them.
std::vector<int> LegalOrder(const Dependencies& before, Rng& rng) {
  std::vector<int> order;
  std::vector<bool> done(before.size(), false);
  while (order.size() < before.size()) {
    std::vector<int> ready;
    for (size_t i = 0; i < before.size(); ++i) {
      if (!done[i] && std::all_of(before[i].begin(), before[i].end(),
                                  [&](int each) { return done[each]; })) {
        ready.push_back(static_cast<int>(i));
      }
    }
    const int next = ready.at(rng.Below(ready.size()));
    done[next] = true;
    order.push_back(next);
  }
  return order;
}

// One step somewhere else.
std::vector<int> AnyOrder(size_t size, Rng& rng) {
  std::vector<int> order(size);
  std::iota(order.begin(), order.end(), 0);
  const auto from = static_cast<int64_t>(rng.Below(size));
  // Near enough to matter.
  const int64_t to = std::clamp<int64_t>(from + rng.InRange(-6, 6), 0,
                                         static_cast<int64_t>(size) - 1);
  const int step = order[from];
  order.erase(order.begin() + from);
  order.insert(order.begin() + to, step);
  return order;
}

// Taps move with their steps.
ProgramCase InOrder(const ProgramCase& program, const std::vector<int>& order) {
  ProgramCase result = program;
  std::vector<int> now(order.size());
  for (size_t at = 0; at < order.size(); ++at) {
    *result.program.mutable_steps(static_cast<int>(at)) =
        program.program.steps(order[at]);
    now[order[at]] = static_cast<int>(at);
  }
  for (auto& tap : *result.program.mutable_taps()) {
    tap.set_step(now.at(tap.step()));
  }
  return result;
}

}  // namespace

void ExpectAgrees(const ProgramCase& program, const NaiveProgramModel& naive) {
  const ProgramOutcome want = naive(program, nullptr);
  EXPECT_EQ(want.error, "");
  EXPECT_FALSE(want.too_long);
  EXPECT_EQ(FirstDifference(RunSession(program), want), "");
}

void ExpectHandCounted(const HandCountedProgram& counted,
                       const NaiveProgramModel& naive) {
  for (const ProgramOutcome& outcome :
       {RunSession(counted.program), naive(counted.program, nullptr)}) {
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(FirstDifference(outcome, counted.outcome), "");
  }
}

void ExpectNoticesMutations(const ProgramCase& program,
                            const NaiveProgramModel& naive, int mutants,
                            Rng& rng, MutationCounts* counts) {
  const ProgramOutcome original = naive(program, nullptr);
  for (int i = 0; i < mutants && !testing::Test::HasFailure(); ++i) {
    ProgramCase mutant = program;
    Mutator(mutant, rng).FlipOne();
    const ProgramOutcome want = naive(mutant, nullptr);
    ++counts->mutants;
    if (want.too_long) {
      ++counts->too_long;
      continue;
    }
    EXPECT_EQ(FirstDifference(RunSession(mutant), want), "") << "mutant " << i;
    if (!want.error.empty()) {
      ++counts->refused;
    } else {
      counts->changed += FirstDifference(want, original).empty() ? 0 : 1;
    }
  }
}

void ExpectOrdersAgree(const ProgramCase& program,
                       const NaiveProgramModel& naive, int orders, Rng& rng,
                       OrderCounts* counts) {
  std::vector<StepTrace> trace;
  const ProgramOutcome original = naive(program, &trace);
  ASSERT_EQ(original.error, "");
  ASSERT_EQ(static_cast<int>(trace.size()), program.program.steps_size());
  const Dependencies before = DependenciesOf(trace);
  for (int i = 0; i < orders && !testing::Test::HasFailure(); ++i) {
    const ProgramCase legal = InOrder(program, LegalOrder(before, rng));
    const ProgramOutcome want = naive(legal, nullptr);
    EXPECT_EQ(want.error, "");
    EXPECT_EQ(FirstDifference(RunSession(legal), want), "") << "legal " << i;
    EXPECT_EQ(want.outputs, original.outputs);
    EXPECT_EQ(want.taps, original.taps);
    ++counts->legal;

    const ProgramCase any = InOrder(program, AnyOrder(trace.size(), rng));
    const ProgramOutcome other = naive(any, nullptr);
    EXPECT_EQ(FirstDifference(RunSession(any), other), "") << "any " << i;
    const bool same =
        other.outputs == original.outputs && other.taps == original.taps;
    ++(!other.error.empty() ? counts->refused
       : same               ? counts->the_same
                            : counts->changed);
  }
}

}  // namespace edgekiln::simfarm::conformance
