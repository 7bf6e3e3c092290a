#ifndef EK_SERVER_WORKER_TESTING_FAKE_COMPILER_H_
#define EK_SERVER_WORKER_TESTING_FAKE_COMPILER_H_

// A script that answers as a compiler does, for tests of who finds it.

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace edgekiln::server {

inline constexpr char kFakeCompiler[] = "riscv64-unknown-elf-gcc";
inline constexpr const char* kFakeCompilerParts[] = {
    "parts/cc1", "parts/collect2", "as", "parts/ld"};

inline void WriteScript(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

// `version`: the shell command that answers what version it is. It finds the
// assembler in PATH.
inline void InstallFakeCompiler(const std::string& folder,
                                const std::string& version) {
  WriteScript(absl::StrCat(folder, "/", kFakeCompiler),
              absl::StrCat("#!/bin/sh\ncase \"$*\" in\n"
                           "-dumpfullversion) ",
                           version,
                           ";;\n"
                           "*-print-search-dirs)\n"
                           "  echo programs: =/nonexistent:${0%/*}/parts/;;\n"
                           "esac\n"));
  std::filesystem::create_directory(folder + "/parts");
  for (const char* part : kFakeCompilerParts) {
    WriteScript(absl::StrCat(folder, "/", part),
                absl::StrCat("#!/bin/sh\n# ", part, "\n"));
  }
}

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_TESTING_FAKE_COMPILER_H_
