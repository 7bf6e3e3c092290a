#ifndef EK_SERVER_DAEMON_STATE_FOLDER_H_
#define EK_SERVER_DAEMON_STATE_FOLDER_H_

#include <string>

#include "absl/status/status.h"
#include "base/file.h"
#include "base/log.h"

namespace edgekiln::server {

// Creates the folder. UNAVAILABLE naming it if it cannot be one.
absl::Status MakeStateFolder(FileSystem& files, const std::string& path);

// Whether there is anything in the folder.
bool HasEntries(FileSystem& files, const std::string& path);

// Names what was set aside there, now or earlier, at each start: somebody
// should look at it, and remove it.
void WarnOfDamage(FileSystem& files, const std::string& path, Logger& log);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_STATE_FOLDER_H_
