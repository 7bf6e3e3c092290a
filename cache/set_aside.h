#ifndef EK_CACHE_SET_ASIDE_H_
#define EK_CACHE_SET_ASIDE_H_

// What to do with things in the state folder that are not what they should be.

#include <string>

#include "absl/status/status.h"
#include "base/file.h"

namespace edgekiln::cache {

// Renames the file or folder at `path` to "<path>.damaged-1", or the first such
// number that is free; `aside`, if not null, gets the new path. NOT_FOUND if
// there is nothing.
absl::Status SetAside(FileSystem& files, const std::string& path,
                      std::string* aside = nullptr);

// Makes `path` free: removes a file, sets aside what cannot be removed, as a
// folder with something in it. Failing is left to the next user of the path.
void Discard(FileSystem& files, const std::string& path);

// As FileSystem::CreateDirectories(); a file that is in the way of the last
// component is set aside.
absl::Status EnsureFolder(FileSystem& files, const std::string& path);

// Whether a failed read says that this very file cannot be used: it is torn, no
// regular file, not ours to read, or on a bad sector. Not, if the process is
// short of something.
bool IsUnreadable(const absl::Status& status);

}  // namespace edgekiln::cache

#endif  // EK_CACHE_SET_ASIDE_H_
