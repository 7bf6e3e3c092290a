#include "client/lsp/schema.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/lsp/schema_files.h"
#include "client/option_values.h"
#include "edgekiln/v1/project.pb.h"
#include "edgekiln/v1/sweep.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "google/protobuf/descriptor.pb.h"

namespace edgekiln::client::lsp {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

constexpr char kMessageComment[] = "proto-message";
constexpr char kProjectFile[] = "edgekiln.txtpb";

absl::string_view FileName(absl::string_view path) {
  const size_t slash = path.find_last_of("/\\");
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

// Comment text as one paragraph per block.
std::string Prose(const std::string& comment) {
  std::vector<std::string> paragraphs(1);
  for (absl::string_view line : absl::StrSplit(comment, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) {
      if (!paragraphs.back().empty()) paragraphs.emplace_back();
      continue;
    }
    absl::StrAppend(&paragraphs.back(), paragraphs.back().empty() ? "" : " ",
                    line);
  }
  if (paragraphs.back().empty()) paragraphs.pop_back();
  return absl::StrJoin(paragraphs, "\n\n");
}

template <typename Element>
std::string CommentOf(const Element& element) {
  google::protobuf::SourceLocation location;
  if (!element.GetSourceLocation(&location)) return "";
  const std::string leading = Prose(location.leading_comments);
  const std::string trailing = Prose(location.trailing_comments);
  return absl::StrCat(
      leading, leading.empty() || trailing.empty() ? "" : "\n\n", trailing);
}

// At the top of a file, to tell what it is.
constexpr size_t kKeysLookedAt = 100;

// Files of others have short keys that are like ours.
constexpr size_t kLeastMistyped = 4;
constexpr size_t kMostMistyped = 64;

bool IsNearlyKey(absl::string_view key, const Descriptor& type) {
  if (key.size() < kLeastMistyped || key.size() > kMostMistyped) return false;
  std::vector<std::string> known;
  for (int i = 0; i < type.field_count(); ++i) {
    if (type.field(i)->name().size() >= kLeastMistyped) {
      known.push_back(type.field(i)->name());
    }
  }
  return !NearestOf(key, known).empty();
}

using Docs = std::map<std::string, std::string>;

template <typename Element>
void AddComment(const Element& element, Docs& docs) {
  std::string comment = CommentOf(element);
  if (!comment.empty()) docs[element.full_name()] = std::move(comment);
}

void AddEnum(const EnumDescriptor& type, Docs& docs) {
  AddComment(type, docs);
  for (int i = 0; i < type.value_count(); ++i) {
    AddComment(*type.value(i), docs);
  }
}

void AddMessage(const Descriptor& type, Docs& docs) {
  AddComment(type, docs);
  for (int i = 0; i < type.field_count(); ++i) AddComment(*type.field(i), docs);
  for (int i = 0; i < type.enum_type_count(); ++i) {
    AddEnum(*type.enum_type(i), docs);
  }
  for (int i = 0; i < type.nested_type_count(); ++i) {
    AddMessage(*type.nested_type(i), docs);
  }
}

}  // namespace

std::string CommentValue(absl::string_view text, const Syntax& syntax,
                         absl::string_view key) {
  for (const Span& span : syntax.comments) {
    absl::string_view comment = span.In(text);
    comment.remove_prefix(1);
    comment = absl::StripLeadingAsciiWhitespace(comment);
    if (!absl::StartsWith(comment, key)) continue;
    comment.remove_prefix(key.size());
    if (!absl::StartsWith(comment, ":")) continue;
    return std::string(absl::StripAsciiWhitespace(comment.substr(1)));
  }
  return "";
}

const FieldDescriptor* FieldNamed(const Descriptor* type,
                                  absl::string_view name) {
  return type == nullptr ? nullptr : type->FindFieldByName(std::string(name));
}

const Descriptor* TypeOf(absl::string_view text, const Node& node,
                         const Descriptor* parent) {
  absl::string_view name = node.name.In(text);
  if (absl::StartsWith(name, "[")) {
    name.remove_prefix(std::min(name.find_last_of("/[") + 1, name.size()));
    if (absl::EndsWith(name, "]")) name.remove_suffix(1);
    if (parent == nullptr) return nullptr;
    return parent->file()->pool()->FindMessageTypeByName(
        std::string(absl::StripAsciiWhitespace(name)));
  }
  const FieldDescriptor* const field = FieldNamed(parent, name);
  return field == nullptr ? nullptr : field->message_type();
}

Schema::Schema() {
  google::protobuf::FileDescriptorSet files;
  const absl::string_view bytes = SchemaFiles();
  files.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  for (const google::protobuf::FileDescriptorProto& file : files.file()) {
    database_.Add(file);
  }
  for (const google::protobuf::FileDescriptorProto& named : files.file()) {
    const auto* const file = pool_.FindFileByName(named.name());
    if (file == nullptr) continue;
    for (int i = 0; i < file->message_type_count(); ++i) {
      AddMessage(*file->message_type(i), docs_);
    }
    for (int i = 0; i < file->enum_type_count(); ++i) {
      AddEnum(*file->enum_type(i), docs_);
    }
  }
  const auto add = [this](const Descriptor* generated, const char* what) {
    const Descriptor* const root =
        pool_.FindMessageTypeByName(generated->full_name());
    if (root == nullptr) return;
    kinds_.push_back(
        {root, what, absl::StrCat("proto/", root->file()->name())});
  };
  add(v1::TargetDescriptor::descriptor(), "target");
  add(v1::SweepRequest::descriptor(), "sweep");
  add(v1::Project::descriptor(), "project");
}

Schema::~Schema() = default;

// "edgekiln.v1.TargetDescriptor" or its last part.
const FileKind* Schema::KindNamed(absl::string_view name) const {
  for (const FileKind& kind : kinds_) {
    if (name == kind.root->full_name() || name == kind.root->name()) {
      return &kind;
    }
  }
  return nullptr;
}

const FileKind* Schema::KindOf(absl::string_view path, absl::string_view text,
                               const Syntax& syntax) const {
  const std::string named = CommentValue(text, syntax, kMessageComment);
  if (!named.empty()) return KindNamed(named);
  if (FileName(path) == kProjectFile) {
    return KindNamed(v1::Project::descriptor()->name());
  }
  if (syntax.fields.empty()) return &kinds_.front();
  const FileKind* const kind = KindByKeys(text, syntax, /*mistyped=*/false);
  return kind != nullptr ? kind : KindByKeys(text, syntax, /*mistyped=*/true);
}

const FileKind* Schema::KindByKeys(absl::string_view text, const Syntax& syntax,
                                   bool mistyped) const {
  const FileKind* best = nullptr;
  int64_t most = 0;
  for (const FileKind& kind : kinds_) {
    const auto end = std::next(
        syntax.fields.begin(),
        static_cast<int64_t>(std::min(syntax.fields.size(), kKeysLookedAt)));
    const int64_t known =
        std::count_if(syntax.fields.begin(), end, [&](const Node& node) {
          const absl::string_view key = node.name.In(text);
          return mistyped ? IsNearlyKey(key, *kind.root)
                          : FieldNamed(kind.root, key) != nullptr;
        });
    if (known <= most) continue;
    best = &kind;
    most = known;
  }
  return best;
}

std::unique_ptr<google::protobuf::Message> Schema::NewMessage(
    const FileKind& kind) const {
  return std::unique_ptr<google::protobuf::Message>(
      factory_.GetPrototype(kind.root)->New());
}

const std::string& Schema::Of(const std::string& full_name) const {
  static const std::string& none = *new std::string();
  const auto found = docs_.find(full_name);
  return found == docs_.end() ? none : found->second;
}

std::string TypeText(const FieldDescriptor& field) {
  std::string type = field.type_name();
  if (field.message_type() != nullptr) type = field.message_type()->name();
  if (field.enum_type() != nullptr) type = field.enum_type()->name();
  return field.is_repeated() ? absl::StrCat("repeated ", type) : type;
}

}  // namespace edgekiln::client::lsp
