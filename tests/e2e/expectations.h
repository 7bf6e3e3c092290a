#ifndef EK_TESTS_E2E_EXPECTATIONS_H_
#define EK_TESTS_E2E_EXPECTATIONS_H_

// What the tests of this folder read out of a command's output. A helper that
// cannot do its work fails the running test.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "edgekiln/v1/error.pb.h"
#include "edgekiln/v1/model.pb.h"
#include "edgekiln/v1/report.pb.h"
#include "tests/e2e/cluster.h"
#include "tests/support/npz.h"

namespace edgekiln::tests {

// What `--json` printed as the given message; unknown keys are a failure.
v1::Report ReportOf(const Outcome& outcome);
v1::ModelDescription DescriptionOf(const Outcome& outcome);
// Of `{"error": ...}`, what `--json` prints for a failure.
v1::ErrorDetail ErrorOf(const Outcome& outcome);

// What `edgekiln ARGUMENTS` answers on a cluster: it must fail with that code,
// for people and with --json, and both must tell the same.
v1::ErrorDetail FailureOf(Cluster& cluster, std::vector<std::string> arguments,
                          int exit_code);
// All that it says, one part a line.
std::string TextOf(const v1::ErrorDetail& error);
// The error says `part` somewhere.
#define EXPECT_NAMES(error, part)                     \
  EXPECT_TRUE(absl::StrContains(TextOf(error), part)) \
      << "no \"" << (part) << "\" in\n"               \
      << TextOf(error)

// Every sum and ratio inside the report that its documentation promises.
void ExpectConsistent(const v1::Report& report);

// Equal in everything but job id, times and cache hits.
void ExpectSame(const v1::Report& expected, const v1::Report& actual);

// Names of the stages with that fate, sorted; "simulate[3]" is "simulate".
std::vector<std::string> StagesWith(const v1::Report& report,
                                    v1::Report::Stage::Cache cache);

// The inputs of a golden file (input_K_NAME) stacked along the first axis, in
// the file `path`, one array per NAME.
void WriteGoldenInputs(const std::map<std::string, NpyArray>& golden,
                       const std::string& path);

// output_K_NAME of the golden file against sample K of the array NAME.
// `tolerance` is relative to the largest magnitude of the output, at least 1;
// 0 asks for equal values.
void ExpectGoldenOutputs(const std::map<std::string, NpyArray>& golden,
                         const std::string& outputs_path, double tolerance);

// The arrays of a file.
std::map<std::string, NpyArray> NpzOf(const std::string& path);

}  // namespace edgekiln::tests

#endif  // EK_TESTS_E2E_EXPECTATIONS_H_
