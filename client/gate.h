#ifndef EK_CLIENT_GATE_H_
#define EK_CLIENT_GATE_H_

// What a report must hold for a command to pass: CI merges on it.

#include <vector>

#include "absl/status/status.h"
#include "client/command_line.h"
#include "edgekiln/v1/report.pb.h"

namespace edgekiln::client {

// GATE_FAILED (exit code 3) with the first limit that a report breaks: values
// that differ from the reference, then `gates` in their order. An accuracy that
// was asked for and is not in the report fails too. OK otherwise.
absl::Status CheckGates(const std::vector<v1::Report>& reports,
                        const Gates& gates);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_GATE_H_
