#include "compiler/ir/layer_id.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace edgekiln::compiler {
namespace {

std::string Readable(absl::string_view name) {
  name = name.substr(0, name.find(';'));
  const size_t last = name.rfind('/');
  if (last != absl::string_view::npos && last > 0) {
    const size_t before = name.rfind('/', last - 1);
    if (before != absl::string_view::npos) name.remove_prefix(before + 1);
  }
  std::string id;
  for (const char c : name) {
    if (id.size() == LayerIdMaker::kMaxLength) break;
    const char lower = absl::ascii_tolower(c);
    const bool plain = absl::ascii_isalnum(lower) || lower == '_' ||
                       lower == '.' || lower == '-';
    // Runs of other characters become one separator.
    if (plain) {
      id.push_back(lower);
    } else if (!id.empty() && id.back() != '.') {
      id.push_back('.');
    }
  }
  while (!id.empty() && id.back() == '.') id.pop_back();
  return id;
}

}  // namespace

std::string LayerIdMaker::Make(absl::string_view source_name,
                               absl::string_view fallback) {
  std::string id = Readable(source_name);
  if (id.empty()) id = Readable(fallback);
  if (id.empty()) id = "layer";
  std::string unique = id;
  // Where the last search for this id ended: a model may repeat one name for
  // every layer.
  int64_t& repeats = repeats_[id];
  while (!taken_.insert(unique).second) {
    unique = absl::StrCat(id, "-", ++repeats + 1);
  }
  return unique;
}

}  // namespace edgekiln::compiler
