#include "compiler/ir/valid_names.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/error.h"

namespace edgekiln::compiler {
namespace {

// Nearly all names: no need to look closer.
bool IsPlain(const std::string& name) {
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return c >= 0x20 && c < 0x7F; });
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
  for (const Tensor& tensor : graph.tensors) taken.insert(tensor.name);
  for (Tensor& tensor : graph.tensors) {
    const std::string wanted = ValidName(tensor.name);
    if (wanted == tensor.name) continue;
    std::string unique = wanted;
    for (int n = 1; !taken.insert(unique).second; ++n) {
      unique = absl::StrCat(wanted, "#", n);
    }
    tensor.name = unique;
  }
}

}  // namespace edgekiln::compiler
