#ifndef EK_CACHE_DISK_BLOB_STORE_H_
#define EK_CACHE_DISK_BLOB_STORE_H_

// Blobs as files: <root>/<first two hex digits>/<hash>-<size>, written to
// <root>/tmp/ first, synced unless they are buffered, and renamed into place. A
// file whose contents do not have the digest in its name is removed when that
// is noticed.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/digest.h"
#include "base/file.h"
#include "cache/blob_store.h"
#include "cache/evictor.h"

namespace edgekiln::cache {

// Opens or creates the store under `root` and removes what a crash left in
// tmp/; looks at a blob when it is first asked for. One process at a time.
// `files` must outlive the store. With an evictor, which must outlive it, too,
// the store tells it of uses and new blobs. Errors: those of FileSystem.
absl::StatusOr<std::unique_ptr<BlobStore>> OpenDiskBlobStore(
    FileSystem& files, const std::string& root, Evictor* evictor = nullptr);

// As the store calls the file of a blob, without its folder.
std::string BlobFileName(const Digest& digest);

}  // namespace edgekiln::cache

#endif  // EK_CACHE_DISK_BLOB_STORE_H_
