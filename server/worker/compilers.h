#ifndef EK_SERVER_WORKER_COMPILERS_H_
#define EK_SERVER_WORKER_COMPILERS_H_

// The C compilers of this machine that make firmware.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "edgekiln/v1/firmware.pb.h"
#include "server/worker/known_compilers.h"

namespace edgekiln::server {

// What was found at one time. Immutable; thread-safe.
class InstalledCompilers {
 public:
  // Looks in the folders of `path`, as PATH has them, for the compilers of
  // target::Processors(). One that does not answer as compilers do, each time
  // within `answer_time`, counts as absent. `memory` is a file in which what is
  // found is kept for the next time; empty: none.
  static InstalledCompilers Find(const std::string& path,
                                 const std::string& memory = "",
                                 absl::Duration answer_time = absl::Seconds(5));
  InstalledCompilers() = default;

  const std::vector<v1::Compiler>& list() const { return list_; }
  // Programs that are there and do not count, with the reason.
  const std::vector<std::string>& problems() const { return problems_; }
  // Folders that hold them and their parts; /usr is not among them.
  const std::vector<std::string>& folders() const { return folders_; }

  // Whether the worker still has that very compiler, or, without a digest, the
  // one that it found under that name: UNAVAILABLE
  // (Fault::kInfra, COMPILER_MISSING, COMPILER_CHANGED) if not. Looks at sizes
  // and times of what was read at first.
  absl::Status Check(const v1::Compiler& compiler) const;

 private:
  void Add(KnownCompiler found);

  std::vector<v1::Compiler> list_;
  std::vector<KnownCompiler> found_;  // The same, with their files.
  std::vector<std::string> problems_;
  std::vector<std::string> folders_;
};

// Whether that is why Check() failed: COMPILER_CHANGED.
bool IsCompilerChanged(const absl::Status& checked);

// "riscv64-unknown-elf-gcc 12.2.0 (01234567), clang ..."; "none".
std::string CompilersText(const InstalledCompilers& compilers);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_COMPILERS_H_
