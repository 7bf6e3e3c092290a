#ifndef EK_CLIENT_LSP_SCHEMA_H_
#define EK_CLIENT_LSP_SCHEMA_H_

// Which message a file holds, and what its schema says about each key.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/lsp/syntax.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor_database.h"
#include "google/protobuf/dynamic_message.h"

namespace edgekiln::client::lsp {

// A message that files hold.
struct FileKind {
  const google::protobuf::Descriptor* root = nullptr;
  std::string what;    // "target".
  std::string schema;  // Where all keys are.
};

// The value of the first comment line "# KEY: value"; empty if there is none.
std::string CommentValue(absl::string_view text, const Syntax& syntax,
                         absl::string_view key);

// The field of `name` in `type`; null if there is none, or `type` is null.
const google::protobuf::FieldDescriptor* FieldNamed(
    const google::protobuf::Descriptor* type, absl::string_view name);

// The message that a node of `parent` holds: that of its field, or of the name
// in brackets of an Any. Null if it is unknown, or `parent` is null.
const google::protobuf::Descriptor* TypeOf(
    absl::string_view text, const Node& node,
    const google::protobuf::Descriptor* parent);

// The .proto files with their comments, those of all engines included, as they
// were when this program was built: by them alone files are read, whatever else
// is linked. Immutable, but parsing makes messages of it: not thread-safe.
class Schema {
 public:
  Schema();
  ~Schema();
  Schema(const Schema&) = delete;
  Schema& operator=(const Schema&) = delete;

  // All kinds of files, targets first.
  const std::vector<FileKind>& kinds() const { return kinds_; }

  // The kind of a file: that of a comment line "# proto-message: NAME"; of a
  // file called edgekiln.txtpb the project; otherwise the one with the most of
  // its keys at the top of the file, or of what may be mistyped ones; targets
  // for a file without any key. Null: not one of our messages; the file is not
  // checked.
  const FileKind* KindOf(absl::string_view path, absl::string_view text,
                         const Syntax& syntax) const;

  // An empty message of that kind; lives as long as the schema.
  std::unique_ptr<google::protobuf::Message> NewMessage(
      const FileKind& kind) const;

  // The comment on what has that full name; empty if there is none.
  const std::string& Of(const std::string& full_name) const;

 private:
  const FileKind* KindNamed(absl::string_view name) const;
  const FileKind* KindByKeys(absl::string_view text, const Syntax& syntax,
                             bool mistyped) const;

  google::protobuf::SimpleDescriptorDatabase database_;
  google::protobuf::DescriptorPool pool_{&database_};
  mutable google::protobuf::DynamicMessageFactory factory_{&pool_};
  std::vector<FileKind> kinds_;
  std::map<std::string, std::string> docs_;
};

// "repeated int64", "Provenance", as hover and completion show it.
std::string TypeText(const google::protobuf::FieldDescriptor& field);

}  // namespace edgekiln::client::lsp

#endif  // EK_CLIENT_LSP_SCHEMA_H_
