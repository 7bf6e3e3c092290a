#ifndef EK_CLIENT_CHECK_COMPARE_BASELINE_H_
#define EK_CLIENT_CHECK_COMPARE_BASELINE_H_

#include "absl/strings/string_view.h"
#include "client/check/project.h"
#include "edgekiln/v1/check.pb.h"
#include "edgekiln/v1/report.pb.h"

namespace edgekiln::client {

// What changed from a baseline, as the bytes of its file, to `report`, into
// `cell`: its baseline, and a finding for everything that is worse by more than
// the group allows. A file that does not hold the report of one target is a
// finding, too. `bytes` are hostile. Pure.
void CompareBaseline(const ProjectFile& project, int group,
                     absl::string_view bytes, const v1::Report& report,
                     v1::CheckCell& cell);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_CHECK_COMPARE_BASELINE_H_
