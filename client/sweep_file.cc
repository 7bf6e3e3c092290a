#include "client/sweep_file.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/exit_code.h"
#include "client/option_values.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"

namespace edgekiln::client {
namespace {

// Messages within messages: the schema has five.
constexpr int kMaxDepth = 16;

class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (!message_.empty()) return;
    line_ = line + 1;
    column_ = column + 1;
    message_ = message;
  }
  void AddWarning(int, int, const std::string&) override {}

  int line() const { return line_; }
  int column() const { return column_; }
  const std::string& message() const { return message_; }

 private:
  int line_ = 0;
  int column_ = 0;
  std::string message_;
};

// Of `Message type "T" has no field named "F".`, the nearest field of T; empty
// for other messages, and where none is near.
std::string NearestField(const std::string& message) {
  const std::vector<std::string> parts = absl::StrSplit(message, '"');
  if (parts.size() < 4 ||
      parts[2].find("has no field named") == std::string::npos) {
    return "";
  }
  const auto* const type =
      google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(
          parts[1]);
  if (type == nullptr) return "";
  std::vector<std::string> names;
  for (int i = 0; i < type->field_count(); ++i) {
    names.push_back(type->field(i)->name());
  }
  return NearestOf(parts[3], names);
}

}  // namespace

absl::StatusOr<v1::SweepRequest> ParseSweepFile(absl::string_view text,
                                                const std::string& path) {
  if (text.size() > kMaxSweepFileBytes) {
    return UsageError("the file is too large for a sweep", path,
                      absl::StrCat("at most ", kMaxSweepFileBytes, " bytes"),
                      "split it");
  }
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kMaxDepth);
  v1::SweepRequest request;
  if (!parser.ParseFromString(std::string(text), &request)) {
    const std::string nearest = NearestField(error.message());
    return UsageError(
        absl::StrCat("the file is no sweep: ", error.message()),
        absl::StrCat(path, ":", error.line(), ":", error.column()),
        "a SweepRequest in text form",
        nearest.empty() ? "proto/edgekiln/v1/sweep.proto has all keys"
                        : absl::StrCat("did you mean \"", nearest, "\"?"));
  }
  if (request.groups_size() > 0) return request;
  return UsageError("the file has no groups", path, "groups { .. }",
                    "`edgekiln sweep run --help` shows an example");
}

}  // namespace edgekiln::client
