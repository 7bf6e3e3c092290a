#ifndef EK_TESTS_CHAOS_SYNCED_FOLDER_H_
#define EK_TESTS_CHAOS_SYNCED_FOLDER_H_

// What a power failure would leave of a folder. drop_unsynced.cc, loaded into a
// program, keeps a shadow of the folder that holds exactly what was synced;
// once the program is killed, the shadow takes the folder's place.
//
// The shadow, in which each change is one rename:
//   files/ID     the contents of a file at its last sync
//   folders/ID   names of a folder at its last sync, a line "f ID NAME" for
//                each file and "d ID NAME" for each folder; ID 0 is the root
// A file or folder that was never synced is not there: it is empty.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace edgekiln::chaos {

// Beside the library that is loaded, so that nobody needs to tell it.
inline constexpr char kWatchedFolder[] = "state";
inline constexpr char kShadowFolder[] = "synced";

struct Dropped {
  int64_t names = 0;     // That a power failure would have taken away.
  int64_t contents = 0;  // Files that would have had others, or none.
  int64_t revived = 0;   // Removed, but not durably.
};

// Makes `scratch`/state what its shadow says and removes the shadow. The
// program must be gone. FAILED_PRECONDITION if there is no shadow.
absl::StatusOr<Dropped> DropUnsynced(const std::string& scratch);

}  // namespace edgekiln::chaos

#endif  // EK_TESTS_CHAOS_SYNCED_FOLDER_H_
