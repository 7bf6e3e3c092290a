#include "client/lsp/file_paths.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace edgekiln::client::lsp {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr size_t kMaxShownBytes = 200;
constexpr char kDefaultQuantization[] = "default";

std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", absl::Utf8SafeCEscape(text), "\"");
}

// Whether the values of a SweepVary are paths.
bool VariesFiles(absl::string_view text, const Node& node,
                 const Descriptor& type) {
  return type.name() == "SweepVary" &&
         StringField(text, node.fields, "key") == "quantization" &&
         FindField(text, node.fields, "quantizations") == nullptr;
}

class PathSearch {
 public:
  PathSearch(absl::string_view text, std::vector<FilePath>& found)
      : text_(text), found_(found) {}

  // `values`: the field `values` holds paths, too.
  void Fields(const std::vector<Node>& fields, const Descriptor& type,
              bool values) {
    for (const Node& node : fields) {
      if (node.is_message) {
        const Descriptor* const inner = TypeOf(text_, node, &type);
        if (inner == nullptr) continue;
        Fields(node.fields, *inner, VariesFiles(text_, node, *inner));
        continue;
      }
      const FieldDescriptor* const field =
          FieldNamed(&type, node.name.In(text_));
      if (field == nullptr || !node.is_string) continue;
      if (field->name() == "file" || (values && field->name() == "values")) {
        Add(node);
      }
    }
  }

 private:
  void Add(const Node& node) {
    std::string path = DecodedString(text_, node);
    if (path.empty() || path == kDefaultQuantization) return;
    if (found_.size() >= kMaxFilePaths) return;
    found_.push_back({.value = node.value,
                      .inner = InnerSpan(text_, node),
                      .path = std::move(path)});
  }

  const absl::string_view text_;
  std::vector<FilePath>& found_;
};

}  // namespace

std::vector<FilePath> FilePathsIn(absl::string_view text, const Syntax& syntax,
                                  const FileKind& kind) {
  std::vector<FilePath> found;
  if (kind.what == "sweep" || kind.what == "project") {
    PathSearch(text, found).Fields(syntax.fields, *kind.root, false);
  }
  return found;
}

std::vector<Problem> MissingProblems(const std::vector<FilePath>& paths,
                                     const MissingFiles& missing) {
  std::vector<Problem> problems;
  for (const FilePath& path : paths) {
    const auto found = missing.find(path.path);
    if (found == missing.end() || problems.size() >= kMaxProblems) continue;
    const MissingFile& file = found->second;
    Problem problem{
        .span = path.inner,
        .reason = "FILE_MISSING",
        .message = absl::StrCat(
            "there is ", file.is_folder ? "a folder, not a file, " : "no file ",
            Quoted(SanitizeText(path.path, kMaxShownBytes)))};
    if (!file.suggestion.empty()) {
      const std::string suggestion = Quoted(file.suggestion);
      absl::StrAppend(&problem.message, "; did you mean ", suggestion, "?");
      problem.fixes.push_back(
          {absl::StrCat("Change to ", suggestion), path.value, suggestion});
    }
    problems.push_back(std::move(problem));
  }
  return problems;
}

}  // namespace edgekiln::client::lsp
