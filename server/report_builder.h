#ifndef EK_SERVER_REPORT_BUILDER_H_
#define EK_SERVER_REPORT_BUILDER_H_

// Assembles a Report from what the stages said in their summaries. Pure
// functions: the daemon opens no model and no program.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "edgekiln/v1/data.pb.h"
#include "edgekiln/v1/jobs.pb.h"
#include "edgekiln/v1/report.pb.h"
#include "edgekiln/v1/stage.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::server {

// The five largest scores of fewer classes say little.
inline constexpr int64_t kMinTop5Classes = 10;

// A sum of per-chunk results; what is by sample is appended. Adding nothing
// leaves it empty.
void Add(const v1::StageSummary::Samples& chunk,
         v1::StageSummary::Samples& total);

// Report.quantization.
std::string QuantizationText(const v1::QuantizationNeeds& needs,
                             const v1::SchemeChoice& choice = {});

// Fills engines, layers, kinds, totals and memory. `io` is the program's form.
void AddProgram(const v1::StageSummary::Target& target,
                const v1::StageSummary::Emit& emit,
                const v1::SimReport& simulated, v1::IoForm io,
                v1::Report& report);

// Puts in front of the reasons of layers on the host that their weights were
// chosen where engines take others. After AddProgram().
void NameChoices(const v1::SchemeChoice& choice, v1::Report& report);

// What is known of a program that nothing simulates: predicted cycles.
v1::SimReport EstimateOf(const v1::StageSummary::Target& target,
                         const v1::StageSummary::Emit& emit);

// Fills totals.cycles_min and cycles_max, of firmware.
void AddCycleRange(const v1::StageSummary::Samples& simulated,
                   v1::Report& report);

// A report that AddProgram() has filled, in the form in which it is told to
// those who watch: without segments and tensors, and without layers where it
// would be larger than kMaxCountedBytes.
inline constexpr size_t kMaxCountedBytes = 32 << 10;
v1::JobEvent::Counted CountedOf(int target, v1::Report report);

// The share of correct answers, or of others, and its Wilson score interval of
// 95 %: E. B. Wilson, "Probable inference, the law of succession, and
// statistical inference", JASA 22 (1927). `labelled` > 0.
v1::AccuracyInterval IntervalOf(int64_t correct, int64_t labelled);

// The running totals of one target; of top1 and top5 the accuracy, too.
v1::JobEvent::Samples ProgressOf(const v1::StageSummary::Samples& simulated,
                                 int64_t total, int target, v1::Metric metric);

// Fills bit_exact; absent if no sample was simulated.
void AddBitExact(const v1::StageSummary::Samples& simulated,
                 v1::Report& report);

// Adds those of the stage's warnings that the report does not hold yet: every
// chunk of a data set repeats them.
void AddWarnings(const v1::StageResult& result, v1::Report& report);

}  // namespace edgekiln::server

#endif  // EK_SERVER_REPORT_BUILDER_H_
