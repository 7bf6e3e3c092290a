#include "compiler/codegen/host/transfer_tables.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "compiler/codegen/c/c_text.h"

namespace edgekiln::compiler {
namespace {

using target::TransferLoop;

// More entries than a firmware could want. No move has more transfers.
constexpr int64_t kMostEntries = 1 << 20;

// Values of the registers of one transfer, and of those that follow it: a
// counter adds the same each time, in 32 bits.
struct Counter {
  int64_t count = 1;
  std::vector<uint32_t> steps;  // By register.
};
struct Entry {
  std::vector<uint32_t> values;   // By register.
  std::vector<Counter> counters;  // The first counts fastest.
};

// The transfers of a loop, in its order, as one entry; nothing if no steps give
// them.
bool IsEntry(const TransferLoop& loop,
             const std::vector<std::vector<uint32_t>>& transfers,
             Entry& entry) {
  entry = {transfers.front(), {}};
  size_t stride = 1;
  for (size_t c = loop.counters.size(); c-- > 0;) {
    Counter& counter = entry.counters.emplace_back();
    counter.count = loop.counters[c].count;
    for (size_t r = 0; r < entry.values.size(); ++r) {
      counter.steps.push_back(transfers[stride][r] - transfers[0][r]);
    }
    stride *= static_cast<size_t>(counter.count);
  }
  for (size_t i = 0; i < transfers.size(); ++i) {
    std::vector<uint32_t> told = entry.values;
    size_t left = i;
    for (const Counter& counter : entry.counters) {
      const auto count = static_cast<size_t>(counter.count);
      for (size_t r = 0; r < told.size(); ++r) {
        told[r] += static_cast<uint32_t>(left % count) * counter.steps[r];
      }
      left /= count;
    }
    if (told != transfers[i]) return false;
  }
  return true;
}

std::string Words(const std::vector<uint32_t>& words) {
  return absl::StrJoin(words, ", ", [](std::string* out, uint32_t word) {
    absl::StrAppendFormat(out, "0x%xu", word);
  });
}

constexpr char kWalk[] = R"(
/* Starts transfers [first, end): writes the registers and waits. */
static void $p_transfer_$e(uint32_t first, uint32_t end) {
  for (; first < end; ++first) {
    const struct $p_transfers_$e *const t = &$p_transfers_$e[first];
    uint32_t value[$registers], index[$counters];
    uint32_t c, r;
    for (r = 0; r < $registersu; ++r) value[r] = t->value[r];
    for (c = 0; c < $countersu; ++c) index[c] = 0;
    do {
      for (r = 0; r < $registersu; ++r) {
        edgekiln_write($e, $p_transfer_registers_$e[r], value[r]);
      }
      edgekiln_write($e, $start);
      while ((edgekiln_read($e, $status) & $mask) != $done) {
      }
      for (c = 0; c < t->counters; ++c) {
        const struct $p_counter_$e *const n =
            &$p_counters_$e[t->counter + c];
        ++index[c];
        for (r = 0; r < $registersu; ++r) {
          value[r] += n->step[r];
          if (index[c] == n->count) value[r] -= n->count * n->step[r];
        }
        if (index[c] < n->count) break;
        index[c] = 0;
      }
    } while (c < t->counters);
  }
}

)";

}  // namespace

struct TransferTables::Window {
  explicit Window(target::RegisterTransfers told)
      : transfers(std::move(told)) {}

  target::RegisterTransfers transfers;
  std::vector<std::string> entries;
  std::vector<std::string> counters;
  size_t most_counters = 1;
  std::map<std::vector<std::string>, int64_t> known;  // Runs of counters.
};

TransferTables::TransferTables(const v1::Program& program,
                               const v1::Machine& machine,
                               const std::string& prefix)
    : program_(program), machine_(machine), p_(prefix) {}

TransferTables::~TransferTables() = default;

bool TransferTables::Starts(const v1::Program::Move& move) const {
  if (move.link() < 0 || move.link() >= machine_.links_size()) return false;
  const v1::ResolvedLink& link = machine_.links(move.link());
  return link.has_window() &&
         machine_.engines(link.window()).jobs().has_transfers();
}

int32_t TransferTables::WindowOf(const v1::Program::Move& move) const {
  return machine_.links(move.link()).window();
}

absl::StatusOr<std::pair<int64_t, int64_t>> TransferTables::Add(
    const v1::Program::Move& move) {
  std::unique_ptr<Window>& window = windows_[WindowOf(move)];
  if (window == nullptr) {
    EK_ASSIGN_OR_RETURN(
        target::RegisterTransfers told,
        target::RegisterTransfers::Create(machine_, WindowOf(move)));
    window = std::make_unique<Window>(std::move(told));
  }
  const auto first = std::ssize(window->entries);
  const auto view = target::MoveTransfersView::Create(
      move, program_.layouts(move.from_layout()),
      program_.layouts(move.to_layout()), window->transfers,
      kMostEntries - first);
  if (absl::IsResourceExhausted(view.status())) {
    return absl::UnimplementedError("no C for a program of so many transfers");
  }
  EK_RETURN_IF_ERROR(view.status());
  const auto add = [&](const Entry& entry) {
    std::vector<std::string> counters;
    for (const Counter& counter : entry.counters) {
      counters.push_back(
          absl::StrCat("{", counter.count, "u, {", Words(counter.steps), "}}"));
    }
    const auto [known, is_new] =
        window->known.try_emplace(counters, std::ssize(window->counters));
    if (is_new) {
      window->counters.insert(window->counters.end(), counters.begin(),
                              counters.end());
    }
    window->most_counters = std::max(window->most_counters, counters.size());
    window->entries.push_back(absl::StrCat("{{", Words(entry.values), "}, ",
                                           counters.empty() ? 0 : known->second,
                                           "u, ", counters.size(), "u}"));
  };
  for (const TransferLoop& loop : view->loops()) {
    std::vector<std::vector<uint32_t>> transfers;
    EK_RETURN_IF_ERROR(view->Visit(
        loop, [&](const std::vector<target::TransferValue>& values) {
          std::vector<uint32_t>& words = transfers.emplace_back();
          for (const auto& value : values) words.push_back(value.value);
          return absl::OkStatus();
        }));
    Entry entry;
    if (IsEntry(loop, transfers, entry)) {
      add(entry);
      continue;
    }
    for (std::vector<uint32_t>& words : transfers) add({std::move(words), {}});
  }
  return std::pair<int64_t, int64_t>(first, std::ssize(window->entries));
}

std::vector<int32_t> TransferTables::Windows() const {
  std::vector<int32_t> windows;
  for (const auto& [engine, window] : windows_) windows.push_back(engine);
  return windows;
}

std::string TransferTables::Text() const {
  std::string text;
  for (const auto& [engine, window] : windows_) {
    const v1::RegisterJobs& jobs = machine_.engines(engine).jobs();
    const std::vector<uint32_t>& offsets = window->transfers.offsets();
    const size_t registers = offsets.size();
    const auto named = [&](absl::string_view what) {
      return absl::StrCat(p_, "_", what, "_", engine);
    };
    CodeWriter c;
    c.Line("/* Transfers that registers of engine ", engine,
           " start: what is written to");
    c.Line(" * them, and what counters add for those that follow. */");
    c.Line("static const uint32_t ", named("transfer_registers"), "[",
           registers, "] = {", Words(offsets), "};");
    c.Line("struct ", named("counter"), " {");
    c.Line("  uint32_t count, step[", registers, "];");
    c.Line("};");
    c.Line("struct ", named("transfers"), " {");
    c.Line("  uint32_t value[", registers, "];");
    c.Line("  uint32_t counter, counters;");
    c.Line("};");
    std::vector<std::string> counters = window->counters;
    if (counters.empty()) {
      counters.push_back(absl::StrCat(
          "{0u, {", Words(std::vector<uint32_t>(registers, 0)), "}}"));
    }
    const std::pair<std::string, const std::vector<std::string>*> tables[] = {
        {absl::StrCat("struct ", named("counter"), " ", named("counters")),
         &counters},
        {absl::StrCat("struct ", named("transfers"), " ", named("transfers")),
         &window->entries}};
    for (const auto& [declared, entries] : tables) {
      c.Line("static const ", declared, "[", entries->size(), "] = {");
      for (const std::string& entry : *entries) c.Line("  ", entry, ",");
      c.Line("};");
    }
    absl::StrAppend(
        &text, c.text(),
        absl::StrReplaceAll(
            kWalk,
            {{"$p", p_},
             {"$e", absl::StrCat(engine)},
             {"$registers", absl::StrCat(registers)},
             {"$counters", absl::StrCat(window->most_counters)},
             {"$start", absl::StrFormat("0x%xu, 0x%xu", jobs.start_offset(),
                                        jobs.start_value())},
             {"$status", absl::StrFormat("0x%xu", jobs.status_offset())},
             {"$mask", absl::StrFormat("0x%xu", jobs.status_mask())},
             {"$done", absl::StrFormat("0x%xu", jobs.status_done())}}));
  }
  return text;
}

}  // namespace edgekiln::compiler
