#include "simfarm/hot_spots/loops.h"

#include <algorithm>
#include <map>
#include <optional>

#include "simfarm/hot_spots/code_view.h"
#include "simfarm/simulators/rv32/symbols.h"

namespace edgekiln::simfarm {
namespace {

using rv32::PcCount;

struct Candidate {
  HotLoop loop;
  int64_t taken = 0;       // Of all branches back to the first instruction.
  int64_t own_cycles = 0;  // Without loops inside.
};

// The index of `address`; absent if nothing was executed there.
std::optional<size_t> IndexOf(const std::vector<PcCount>& counts,
                              uint32_t address) {
  const auto found = std::lower_bound(
      counts.begin(), counts.end(), address,
      [](const PcCount& count, uint32_t at) { return count.pc < at; });
  if (found == counts.end() || found->pc != address) return std::nullopt;
  return static_cast<size_t>(found - counts.begin());
}

// By first instruction.
std::map<size_t, Candidate> CandidatesOf(const FirmwareProfile& profile) {
  const std::vector<PcCount>& counts = profile.addresses;
  const rv32::SymbolTable symbols(profile.executable.functions);
  std::map<size_t, Candidate> candidates;
  for (size_t i = 0; i < counts.size(); ++i) {
    const uint32_t pc = counts[i].pc;
    const std::optional<rv32::Instruction> branch = InstructionAt(profile, pc);
    if (!branch.has_value()) continue;
    const std::optional<uint32_t> target = JumpTarget(*branch, pc);
    const int64_t taken = JumpsTaken(*branch, counts[i]);
    if (!target.has_value() || *target > pc || taken == 0 ||
        pc - *target >= kMaxLoopInstructions * 4 ||
        symbols.Find(pc) != symbols.Find(*target)) {
      continue;
    }
    const std::optional<size_t> begin = IndexOf(counts, *target);
    if (!begin.has_value() ||
        static_cast<int64_t>(i - *begin) >= kMaxLoopInstructions) {
      continue;
    }
    Candidate& candidate = candidates[*begin];
    candidate.loop.begin = *begin;
    candidate.loop.end = i + 1;  // Branches come by rising addresses.
    candidate.taken += taken;
  }
  return candidates;
}

void Count(const std::vector<PcCount>& counts, HotLoop* loop) {
  for (size_t i = loop->begin; i < loop->end; ++i) {
    loop->executed += counts[i].executions;
    loop->cycles += counts[i].cycles;
  }
}

// Gives each instruction's cycles to the smallest loop around it.
void CountOwn(const std::vector<PcCount>& counts,
              std::vector<Candidate>* loops) {
  std::stable_sort(
      loops->begin(), loops->end(), [](const Candidate& a, const Candidate& b) {
        return a.loop.end - a.loop.begin > b.loop.end - b.loop.begin;
      });
  std::vector<Candidate*> owners(counts.size(), nullptr);
  for (Candidate& each : *loops) {
    std::fill(owners.begin() + static_cast<std::ptrdiff_t>(each.loop.begin),
              owners.begin() + static_cast<std::ptrdiff_t>(each.loop.end),
              &each);
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    if (owners[i] != nullptr) owners[i]->own_cycles += counts[i].cycles;
  }
}

bool Overlap(const HotLoop& a, const HotLoop& b) {
  return a.begin < b.end && b.begin < a.end;
}

}  // namespace

std::vector<HotLoop> FindHotLoops(const FirmwareProfile& profile,
                                  size_t max_loops) {
  const std::vector<PcCount>& counts = profile.addresses;
  std::vector<Candidate> loops;
  for (auto& [begin, candidate] : CandidatesOf(profile)) {
    if (candidate.taken * 2 < counts[begin].executions) continue;
    Count(counts, &candidate.loop);
    loops.push_back(candidate);
  }
  CountOwn(counts, &loops);
  std::stable_sort(loops.begin(), loops.end(),
                   [](const Candidate& a, const Candidate& b) {
                     return a.own_cycles > b.own_cycles;
                   });
  std::vector<HotLoop> chosen;
  for (const Candidate& each : loops) {
    if (chosen.size() == max_loops || each.own_cycles == 0) break;
    const bool is_free = std::none_of(
        chosen.begin(), chosen.end(),
        [&](const HotLoop& other) { return Overlap(each.loop, other); });
    if (is_free) chosen.push_back(each.loop);
  }
  std::stable_sort(
      chosen.begin(), chosen.end(),
      [](const HotLoop& a, const HotLoop& b) { return a.cycles > b.cycles; });
  return chosen;
}

}  // namespace edgekiln::simfarm
