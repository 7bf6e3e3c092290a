#ifndef EK_CLIENT_SWEEP_ROWS_H_
#define EK_CLIENT_SWEEP_ROWS_H_

// The rows of a sweep as they come, judged by its limits.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/gates.h"
#include "edgekiln/v1/jobs.pb.h"

namespace edgekiln::client {

// The limits of a group as typed values.
Gates GatesOf(const v1::SweepGates& gates);

// Fills the gates of one report of a sweep. A limit of a memory that its target
// does not have is left out: other targets of the sweep may have it.
void JudgeReport(Gates gates, v1::Report& report);

// Whose fault it is that a cell failed: the service's (exit code 4), or that of
// the model or its data (1).
bool FailedByService(const v1::SweepRow& row);

// "model=resnet8 target=dla-64-o-512k recipe=default pes=32": tells a row from
// all others of its sweep. Values with spaces are quoted.
std::string KeyOf(const v1::SweepRow& row);

// Whether a job is a sweep, and has rows.
bool IsSweep(const v1::Job& job);

class SweepRows {
 public:
  // `request`: what was asked for; its limits are applied.
  explicit SweepRows(const v1::SweepRequest& request);

  // An event of the sweep. True if it is a row: then rows().back() is new.
  bool Apply(const v1::JobEvent& event);

  // In the order in which they came.
  const std::vector<v1::SweepRow>& rows() const { return rows_; }
  // By cell.
  std::vector<v1::SweepRow> InOrder() const;
  const v1::SweepPlanned& planned() const { return planned_; }
  // Of the rows that there are.
  const v1::SweepSummary& summary() const { return summary_; }
  int gates_failed() const { return gates_failed_; }

  // What comes of them all: a failure of ours (exit code 4), or else of the
  // user's (1), or else broken limits (3). OK otherwise.
  absl::Status Outcome() const;

 private:
  void Judge(v1::SweepRow& row);

  std::vector<Gates> gates_;  // By group.
  std::vector<v1::SweepRow> rows_;
  v1::SweepPlanned planned_;
  v1::SweepSummary summary_;
  int gates_failed_ = 0;
};

}  // namespace edgekiln::client

#endif  // EK_CLIENT_SWEEP_ROWS_H_
