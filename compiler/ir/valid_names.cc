#include "compiler/ir/valid_names.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/error.h"

namespace edgekiln::compiler {
namespace {

constexpr uint64_t kEachByte = 0x0101010101010101;

// Whether each of eight bytes is in [0x20, 0x7F).
bool ArePlain(uint64_t bytes) {
  const uint64_t below = (bytes - 0x20 * kEachByte) & ~bytes;
  const uint64_t above = bytes | (bytes + kEachByte);
  return ((below | above) & (0x80 * kEachByte)) == 0;
}

// Nearly all names: no need to look closer. Names are much of a small model, so
// eight bytes at a time.
bool IsPlain(const std::string& name) {
  const char* at = name.data();
  size_t left = name.size();
  for (; left >= sizeof(uint64_t); at += sizeof(uint64_t)) {
    uint64_t bytes;
    std::memcpy(&bytes, at, sizeof(bytes));
    if (!ArePlain(bytes)) return false;
    left -= sizeof(bytes);
  }
  uint64_t rest = 0x20 * kEachByte;
  std::memcpy(&rest, at, left);
  return ArePlain(rest);
}

}  // namespace

std::string ValidName(const std::string& name) {
  if (IsPlain(name)) return name;
  // Keeps the length, and replaces what does not belong there.
  const std::string clean = SanitizeText(name, static_cast<int>(name.size()));
  std::string valid;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == clean[i]) {
      valid.push_back(name[i]);
    } else {
      absl::StrAppendFormat(&valid, "\\x%02X",
                            static_cast<unsigned char>(name[i]));
    }
  }
  return valid;
}

void MakeNamesValid(Graph& graph) {
  graph.name = ValidName(graph.name);
  for (Op& op : graph.ops) {
    if (!IsPlain(op.name)) op.name = ValidName(op.name);
  }
  if (std::all_of(graph.tensors.begin(), graph.tensors.end(),
                  [](const Tensor& tensor) { return IsPlain(tensor.name); })) {
    return;
  }
  absl::flat_hash_set<std::string> taken;
  absl::flat_hash_map<std::string, int> suffix;  // The last given to a name.
  for (const Tensor& tensor : graph.tensors) taken.insert(tensor.name);
  for (Tensor& tensor : graph.tensors) {
    const std::string wanted = ValidName(tensor.name);
    if (wanted == tensor.name) continue;
    std::string unique = wanted;
    while (!taken.insert(unique).second) {
      unique = absl::StrCat(wanted, "#", ++suffix[wanted]);
    }
    tensor.name = unique;
  }
}

}  // namespace edgekiln::compiler
