#ifndef EK_CLIENT_CHECK_PROJECT_CHECKS_H_
#define EK_CLIENT_CHECK_PROJECT_CHECKS_H_

#include "absl/status/status.h"
#include "base/file.h"
#include "client/check/project.h"

namespace edgekiln::client {

// What a project says that cannot be meant: groups without models or targets, a
// name used twice, limits out of range, limits of what a group does not
// measure. A usage error with the place in the file.
absl::Status CheckProject(const ProjectFile& file);

// Files of models, data sets and targets that do not exist. A usage error with
// the place in the project file.
absl::Status CheckProjectFiles(const ProjectFile& file, FileSystem& files);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_CHECK_PROJECT_CHECKS_H_
