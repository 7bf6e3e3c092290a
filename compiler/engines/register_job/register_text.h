#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_REGISTER_TEXT_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_REGISTER_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/target.pb.h"

// Register writes as bytes and as text, in the order in which the host does
// them. Bytes: offset and value of each, two little-endian 32-bit words. Text:
// one line each, "NAME 0x0000002a", the start register called "start".
namespace edgekiln::compiler::register_job {

// INVALID_ARGUMENT names the write ("word 3", from 0), or the line, and what is
// wrong with it.
absl::StatusOr<std::string> WritesToText(const v1::RegisterJobs& jobs,
                                         absl::string_view bytes);
absl::StatusOr<std::string> WritesFromText(const v1::RegisterJobs& jobs,
                                           absl::string_view text);

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_REGISTER_TEXT_H_
