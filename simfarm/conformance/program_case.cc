#include "simfarm/conformance/program_case.h"

#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace edgekiln::simfarm::conformance {
namespace {

std::string Differ(absl::string_view what, const std::vector<int64_t>& a,
                   const std::vector<int64_t>& b) {
  return a == b ? ""
                : absl::StrCat(what, ": ", absl::StrJoin(a, ","), " and ",
                               absl::StrJoin(b, ","));
}

std::string DifferentValues(absl::string_view what,
                            const std::vector<std::string>& a,
                            const std::vector<std::string>& b) {
  if (a.size() != b.size()) {
    return absl::StrCat(a.size(), " and ", b.size(), " ", what, "s");
  }
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t at = 0; at < a[i].size() && at < b[i].size(); ++at) {
      if (a[i][at] == b[i][at]) continue;
      return absl::StrCat(what, " ", i, ", byte ", at, ": ", int{a[i][at]},
                          " and ", int{b[i][at]});
    }
    if (a[i].size() != b[i].size()) {
      return absl::StrCat(what, " ", i, ": ", a[i].size(), " and ", b[i].size(),
                          " bytes");
    }
  }
  return "";
}

}  // namespace

std::string FirstDifference(const ProgramOutcome& a, const ProgramOutcome& b) {
  if (a.error.empty() != b.error.empty()) {
    return absl::StrCat("refused by one: ", a.error, b.error);
  }
  if (!a.error.empty()) return "";
  for (const std::string& difference :
       {Differ("too long", {a.too_long}, {b.too_long}),
        Differ("cycles", {a.cycles}, {b.cycles}),
        Differ("cycles of layers", a.layer_cycles, b.layer_cycles),
        Differ("busy cycles", a.busy_cycles, b.busy_cycles),
        Differ("bytes read", {a.bytes_read}, {b.bytes_read}),
        Differ("bytes written", {a.bytes_written}, {b.bytes_written}),
        DifferentValues("tap", a.taps, b.taps),
        DifferentValues("output", a.outputs, b.outputs)}) {
    if (!difference.empty()) return difference;
  }
  return "";
}

ProgramOutcome RunSession(const ProgramCase& program) {
  ProgramOutcome outcome;
  const auto refused = [&](const absl::Status& status) {
    outcome = {};
    outcome.error = std::string(status.message());
    EXPECT_NE(outcome.error, "");
    return outcome;
  };
  const auto session = LoadSession(program.program, program.constants,
                                   program.machine, program.options);
  if (!session.ok()) return refused(session.status());
  const std::vector<absl::string_view> inputs(program.inputs.begin(),
                                              program.inputs.end());
  // Sessions have a copy of the program: taps are told apart by content.
  std::map<std::string, int> position;
  for (const v1::Program::Tap& tap : program.program.taps()) {
    position.try_emplace(tap.SerializeAsString(),
                         static_cast<int>(position.size()));
  }
  EXPECT_EQ(static_cast<int>(position.size()), program.program.taps_size());
  outcome.taps.resize(position.size());
  const auto visit = [&](const v1::Program::Tap& tap,
                         absl::string_view values) {
    outcome.taps.at(position.at(tap.SerializeAsString())) = std::string(values);
    return absl::OkStatus();
  };
  const auto report = (*session)->RunChecked(inputs, visit, &outcome.outputs);
  if (!report.ok()) return refused(report.status());
  const auto counted =
      CountCycles(program.program, program.machine, program.options);
  EXPECT_TRUE(counted.ok()) << counted.status();
  if (counted.ok()) {
    EXPECT_EQ(counted->SerializeAsString(), report->SerializeAsString());
  }
  const std::vector<std::string> taps = outcome.taps;
  std::vector<std::string> outputs;
  const absl::Status fast = (*session)->Run(inputs, visit, &outputs);
  EXPECT_TRUE(fast.ok()) << fast;
  EXPECT_EQ(outputs, outcome.outputs);
  EXPECT_EQ(taps, outcome.taps);
  outcome.cycles = report->cycles();
  for (const auto& layer : report->layers()) {
    outcome.layer_cycles.push_back(layer.cycles());
  }
  for (const auto& engine : report->engines()) {
    outcome.busy_cycles.push_back(engine.busy_cycles());
  }
  outcome.bytes_read = report->dma_bytes_read();
  outcome.bytes_written = report->dma_bytes_written();
  return outcome;
}

}  // namespace edgekiln::simfarm::conformance
