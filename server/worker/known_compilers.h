#ifndef EK_SERVER_WORKER_KNOWN_COMPILERS_H_
#define EK_SERVER_WORKER_KNOWN_COMPILERS_H_

// Compilers that a worker has described before, so that the next one starts
// without reading them again.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "edgekiln/v1/firmware.pb.h"

namespace edgekiln::server {

struct KnownCompiler {
  struct File {
    std::string path;
    int64_t size_bytes = 0;
    absl::Time modified;
  };
  v1::Compiler compiler;
  // What the digest was made of; first the driver.
  std::vector<File> files;
  // What else it reads lies in these, as its headers.
  std::vector<std::string> folders;
};

// The first of the files that is no longer as it was; empty: none.
std::string ChangedFile(const KnownCompiler& known, FileSystem& disk);

// As a file has them, a line for each thing. `key` names what else decided how
// they were described.
std::string KnownCompilersText(const std::vector<KnownCompiler>& known,
                               absl::string_view key);
// None for a text that is not of that form or of another key.
std::vector<KnownCompiler> ParseKnownCompilers(absl::string_view text,
                                               absl::string_view key);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_KNOWN_COMPILERS_H_
