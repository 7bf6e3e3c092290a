#include "compiler/engines/register_job/chip.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/rounding.h"
#include "base/status_macros.h"
#include "target/layout_parts.h"
#include "target/memories.h"
#include "target/move_cost.h"

namespace edgekiln::compiler::register_job {
namespace {

// Clocks may be so far apart that the result has no 64 bits: then it is kMost,
// which no plan may take (kMaxPlannedCycles).
int64_t ScaledUp(int64_t cycles, int64_t to_hz, int64_t from_hz) {
  constexpr __int128 kMost = std::numeric_limits<int64_t>::max() / 4;
  const auto scaled = static_cast<__int128>(cycles) * to_hz;
  return static_cast<int64_t>(
      std::min((scaled + from_hz - 1) / from_hz, kMost));
}

template <typename List>
bool Contains(const List& list, int32_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// Whether the host's order of bytes is not that of some operand.
bool ReversesBytes(const v1::RegisterJobs& jobs) {
  for (const v1::RegisterJobs::Job& job : jobs.jobs()) {
    for (const v1::RegisterJobs::Operand& operand : job.operands()) {
      const bool moves = operand.name() == "in" || operand.name() == "in2" ||
                         operand.name() == "out";
      if (moves && operand.reversed_bytes() > 0) return true;
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<Chip> Chip::Create(const v1::Machine& machine, int32_t engine) {
  if (engine < 0 || engine >= machine.engines_size() ||
      machine.engines(engine).model() != v1::EngineDescriptor::REGISTER_JOB) {
    return absl::InvalidArgumentError(
        absl::StrCat("engine ", engine, " is not driven by register jobs"));
  }
  EK_ASSIGN_OR_RETURN(target::RegisterJobsView view,
                      target::RegisterJobsView::Create(machine, engine));
  Chip chip(machine, engine, std::move(view));
  chip.memory_ = target::LocalMemoryOf(machine, engine);
  for (int32_t m = 0; m < machine.memories_size(); ++m) {
    const v1::ResolvedMemory& memory = machine.memories(m);
    if (!memory.host_reaches()) continue;
    const bool writable = target::IsWritable(memory);
    if (writable && chip.ram_ < 0) chip.ram_ = m;
    if (target::Holds(memory, v1::MemoryDescriptor::CONSTANTS) &&
        (!writable || chip.flash_ < 0)) {
      chip.flash_ = m;
    }
  }
  const auto one_dimension = [&chip](const v1::ResolvedLink& link) {
    return chip.Uses(link) && link.dimensions() == 1;
  };
  if (ReversesBytes(chip.view_.jobs()) ||
      std::any_of(machine.links().begin(), machine.links().end(),
                  one_dimension)) {
    EK_ASSIGN_OR_RETURN(chip.copy_costs_, target::HostCosts::Create(machine));
  }
  const auto refuse = [&](absl::string_view need) {
    return target::InvalidRegisterJobs(
        absl::StrCat("engine ", machine.engines(engine).name(), " needs ",
                     need),
        "memories", "correct the memories in the target file");
  };
  if (chip.memory_ < 0 || chip.flash_ < 0 || chip.ram_ < 0) {
    return refuse("a memory of its own, and one of the host's for constants");
  }
  const int32_t records = chip.view_.record_memory();
  if (records >= 0 && records != chip.ram_) {
    return refuse(absl::StrCat("its records in ",
                               machine.memories(chip.ram_).name(),
                               ", the first memory of activations"));
  }
  // Addresses of rooms are the caller's choice.
  if (chip.alignment_bytes() % target::kJobTableAlignment != 0) {
    return refuse(absl::StrCat("memory ", machine.memories(chip.memory_).name(),
                               " aligned to multiples of ",
                               target::kJobTableAlignment, ", for its tables"));
  }
  return chip;
}

bool Chip::Uses(const v1::ResolvedLink& link) const {
  return link.owner() == target::kHostOwner &&
         (!link.has_window() || link.window() == engine_);
}

int64_t Chip::alignment_bytes() const {
  return machine_->memories(memory_).alignment_bytes();
}

int64_t Chip::JobCycles(const target::JobCode& code) const {
  const v1::Machine::Engine& engine = machine_->engines(engine_);
  return engine.job_cycles() +
         std::ssize(code.record) * engine.record_word_cycles() +
         std::ssize(code.writes) * engine.register_write_cycles();
}

int64_t Chip::poll_cycles() const {
  return machine_->engines(engine_).poll_cycles();
}

absl::StatusOr<Chip::Move> Chip::MoveBetween(
    int32_t from, const v1::Layout& from_layout, int32_t to,
    const v1::Layout& to_layout) const {
  std::optional<Move> best;
  for (int32_t l = 0; l < machine_->links_size(); ++l) {
    const v1::ResolvedLink& link = machine_->links(l);
    if (!Uses(link) || !Contains(link.from(), from) ||
        !Contains(link.to(), to)) {
      continue;
    }
    EK_ASSIGN_OR_RETURN(const int64_t cycles,
                        target::MoveCycles(link, from_layout, to_layout));
    const int32_t window = link.has_window() ? link.window() : -1;
    if (!best || cycles < best->host_cycles) {
      best = Move{l, cycles, /*rearranges=*/false, window};
    }
    // What counts more than bytes rearranges by itself, but for reversal.
    if (link.dimensions() > 1 &&
        from_layout.reversed_bytes() == to_layout.reversed_bytes()) {
      continue;
    }
    EK_ASSIGN_OR_RETURN(std::optional<Move> move,
                        Rearranged(link, from, from_layout, to, to_layout));
    if (!move || move->host_cycles >= best->host_cycles) continue;
    best = Move{l, move->host_cycles, /*rearranges=*/true, window};
  }
  if (best) return *best;
  return MakeError(
      absl::StatusCode::kUnimplemented,
      {.reason = "MEMORIES_APART",
       .what = "no link of the host's brings data where the engine needs it",
       .where = absl::StrCat("from ", machine_->memories(from).name(), " to ",
                             machine_->memories(to).name()),
       .need = "a link with owner \"host\" that reads the one and writes the "
               "other",
       .fix = "add it to the descriptor"});
}

absl::StatusOr<std::optional<Chip::Move>> Chip::Rearranged(
    const v1::ResolvedLink& link, int32_t from, const v1::Layout& from_layout,
    int32_t to, const v1::Layout& to_layout) const {
  const bool loads = to == memory_;
  const int32_t other = loads ? from : to;
  if (other == memory_ || !machine_->memories(other).host_reaches() ||
      !Contains(loads ? link.from() : link.to(), ram_)) {
    return std::nullopt;
  }
  const v1::Layout& engine = loads ? to_layout : from_layout;
  EK_ASSIGN_OR_RETURN(const int64_t moved,
                      target::MoveCycles(link, engine, engine));
  int64_t bytes = engine.element_bits() / 8;
  for (const int64_t extent : engine.extents()) bytes *= extent;
  EK_ASSIGN_OR_RETURN(const int64_t copied, copy_costs_->CopyCycles(bytes));
  Move move;
  move.host_cycles = moved + copied;
  return move;
}

int64_t Chip::HostCycles(int64_t engine_cycles) const {
  return ScaledUp(engine_cycles, machine_->host_clock_hz(),
                  machine_->engines(engine_).clock_hz());
}

int64_t Chip::EngineCycles(int64_t host_cycles) const {
  return ScaledUp(host_cycles, machine_->engines(engine_).clock_hz(),
                  machine_->host_clock_hz());
}

int64_t Chip::Aligned(int64_t bytes) const {
  return RoundUp(bytes, alignment_bytes());
}

absl::StatusOr<Chip::Move> MoveByRow(const Chip& chip, int32_t from,
                                     const v1::Layout& from_layout,
                                     const v1::Layout& to_layout,
                                     const Chip::Move& whole) {
  // Rows that cut groups of reversed bytes are none that a mover has.
  const int64_t row_bytes = from_layout.extents(1);
  const int64_t group = std::max<int64_t>(from_layout.reversed_bytes(), 1);
  if (whole.rearranges || row_bytes % group != 0 ||
      from_layout.first_byte() != 0 || to_layout.first_byte() != 0) {
    return whole;
  }
  const int64_t rows = from_layout.extents(0) * from_layout.extents(2);
  const auto row_of = [](const v1::Layout& layout) {
    return target::PartOf(layout, {0, 0, 0}, {1, layout.extents(1), 1});
  };
  const auto there = row_of(from_layout);
  const auto here = row_of(to_layout);
  if (!there || !here) return whole;
  EK_ASSIGN_OR_RETURN(
      Chip::Move row,
      chip.MoveBetween(from, there->layout, chip.memory(), here->layout));
  if (row.rearranges) return whole;
  row.host_cycles *= rows;
  row.by_row = true;
  return row;
}

}  // namespace edgekiln::compiler::register_job
