#include "compiler/codegen/firmware/own_kernels.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace edgekiln::compiler {

std::string OwnPath(absl::string_view path) {
  return absl::StrCat(kOwnFolder, "/", path);
}

bool IsOwnPath(absl::string_view path) {
  return absl::StartsWith(path, absl::StrCat(kOwnFolder, "/"));
}

std::vector<std::string> OwnIncludeFolders(
    const std::vector<std::string>& paths) {
  std::set<std::string> folders;
  for (const std::string& path : paths) {
    if (!IsOwnPath(path) || !absl::EndsWith(path, ".h")) continue;
    for (size_t end = path.rfind('/'); end != std::string::npos;
         end = end == 0 ? std::string::npos : path.rfind('/', end - 1)) {
      folders.insert(path.substr(0, end));
    }
  }
  return {folders.begin(), folders.end()};
}

std::string OwnKernelsText(const std::vector<OwnCall>& calls,
                           bool has_sources) {
  std::string text =
      has_sources
          ? "Functions of the target's own kernels, which layers call. The "
            "folder kernels has\ntheir sources.\n"
          : "Functions of the target's own kernels, which layers call. They "
            "are "
            "not here: a\nfirmware must link them, and the compiler must find "
            "their headers.\n\n  make check KERNELS=lib.a "
            "KERNEL_FLAGS=-Ifolder\n  make firmware.elf KERNELS=lib.a "
            "KERNEL_FLAGS=-Ifolder\n\nKERNELS are sources, objects or "
            "archives: "
            "of this machine for check, of the\ntarget for firmware.elf.\n";
  absl::StrAppend(&text, "\nFUNCTION HEADER LAYER\n");
  for (const OwnCall& call : calls) {
    absl::StrAppend(&text, call.function, " ", call.header, " ", call.layer,
                    "\n");
  }
  return text;
}

}  // namespace edgekiln::compiler
