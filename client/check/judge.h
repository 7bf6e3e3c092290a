#ifndef EK_CLIENT_CHECK_JUDGE_H_
#define EK_CLIENT_CHECK_JUDGE_H_

// One cell of a project against its budgets and its baseline. Pure. Limits are
// judged by client/gate.h and client/regression.h, which every command uses.

#include <optional>
#include <string>

#include "client/check/cell_names.h"
#include "client/check/project.h"
#include "edgekiln/v1/check.pb.h"
#include "edgekiln/v1/sweep_row.pb.h"

namespace edgekiln::client {

// What is known of one cell. Pointers must outlive the call.
struct CellInput {
  const v1::SweepRow* row = nullptr;
  // The row that tells what became of it: itself, or the one that it was merged
  // into. Null: that one did not come.
  const v1::SweepRow* outcome = nullptr;
  CellNames names{};
  // The report of the job, with its layers. Null: not asked for.
  const v1::Report* whole = nullptr;
  std::string baseline_path{};
  std::optional<std::string> baseline{};  // The file's bytes, if there is one.
  // The report becomes the baseline: it is not compared.
  bool update = false;
};

// Whether the verdict needs `whole`: without it neither layers can be named nor
// a baseline be compared.
bool NeedsWhole(const ProjectFile& project, const CellInput& input);

v1::CheckCell JudgeCell(const ProjectFile& project, const CellInput& input);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_CHECK_JUDGE_H_
