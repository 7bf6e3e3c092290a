#include "base/source_path.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

namespace edgekiln {

bool IsSourcePath(absl::string_view path) {
  for (const absl::string_view part : absl::StrSplit(path, '/')) {
    if (part.empty() || part[0] == '.' || part[0] == '-') return false;
    if (!std::all_of(part.begin(), part.end(), [](char c) {
          return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                 c == '.' || c == '_' || c == '-';
        })) {
      return false;
    }
  }
  return true;
}

}  // namespace edgekiln
