#ifndef EK_CLIENT_LOCAL_BLOB_H_
#define EK_CLIENT_LOCAL_BLOB_H_

// Files of the user's, named by digest, ready to be uploaded.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "base/file.h"
#include "edgekiln/v1/data.pb.h"

namespace edgekiln::client {

// A file that was read once to learn its digest. It is not held in memory: data
// sets can be large.
struct LocalBlob {
  std::string path;
  Digest digest;
};

// A usage error, naming `option`, if there is no such file or it cannot be
// read.
absl::StatusOr<LocalBlob> OpenLocalBlob(FileSystem& files,
                                        const std::string& path,
                                        absl::string_view option);

// The same of a model. Also a usage error if it is larger than its formats
// allow; it is not read then.
absl::StatusOr<LocalBlob> OpenModel(FileSystem& files, const std::string& path,
                                    absl::string_view option);

// The files of a DATA argument: one .npz; or an .npy or IDX pair, written
// "IMAGES,LABELS" or as IMAGES alone, whose labels lie beside it under the
// customary name: "images" is "labels", "idx3" is "idx1" in it, with or without
// ".gz". A lone IDX file without labels beside it is an error only if
// `labels_needed`. A usage error names what was looked for.
absl::StatusOr<std::vector<LocalBlob>> OpenDataSet(FileSystem& files,
                                                   const std::string& argument,
                                                   absl::string_view option,
                                                   bool labels_needed);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_LOCAL_BLOB_H_
