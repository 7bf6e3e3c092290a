#ifndef EK_SERVER_STAGE_VERSIONS_H_
#define EK_SERVER_STAGE_VERSIONS_H_

// Names and versions of the stages. A version is a hash of the sources that
// decide what a stage computes, made by the build: it is part of every stage
// key, so that a changed compiler never meets its old results. Thread-safe.

#include <string>

#include "absl/strings/string_view.h"
#include "edgekiln/v1/stage.pb.h"

namespace edgekiln::server {

using Stage = v1::StageOptions::OptionsCase;

// The field name in StageOptions: "import", "resolve_target", ... Empty for
// OPTIONS_NOT_SET.
absl::string_view StageName(Stage stage);

// Hex digits. Empty for OPTIONS_NOT_SET.
absl::string_view StageVersion(Stage stage);

// SHA-256 over all stage versions, as hex digits. A daemon gives leases only to
// workers that have the same: they would compute the same results.
std::string BuildDigest();

}  // namespace edgekiln::server

#endif  // EK_SERVER_STAGE_VERSIONS_H_
