#ifndef EK_CLIENT_GATE_H_
#define EK_CLIENT_GATE_H_

// Whether reports keep the limits that a caller set: CI merges on it. The one
// place where limits are judged; commands only read them and print the outcome.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/gates.h"
#include "edgekiln/v1/report.pb.h"

namespace edgekiln::client {

// Fills Report.gates: one for each limit, kept or not, in the order of the
// fields of `gates`. A limit of a memory goes to the targets that have a memory
// of that name; USAGE, naming the memories there are, if none has. Reports of
// failed targets get no gates. What a report does not have, such as an accuracy
// that was not measured, breaks its limit.
absl::Status ApplyGates(const Gates& gates, std::vector<v1::Report>& reports);

// One thing that fails a command.
struct GateFailure {
  const v1::Report* report = nullptr;
  // Null: values differ from the reference.
  const v1::Report::Gate* gate = nullptr;
};
// In the order of the reports, then of their gates. `reports` must outlive it.
std::vector<GateFailure> FindGateFailures(
    const std::vector<v1::Report>& reports);
// What it is, and what to do, for people. Clean text.
std::string GateFailureText(const GateFailure& failure);
std::string GateFailureFix(const GateFailure& failure);

// GATE_FAILED (exit code 3) with every broken limit in Report.gates of every
// report, and every report whose values differ from the reference. Several are
// the lines of the error (see error_detail.h). OK otherwise.
absl::Status CheckGates(const std::vector<v1::Report>& reports);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_GATE_H_
