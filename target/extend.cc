#include "target/extend.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "target/builtin.h"
#include "target/nearest_name.h"
#include "target/parameters.h"
#include "target/resolve.h"

namespace edgekiln::target {
namespace {

constexpr int kSchemaVersion = 1;
// Built-in descriptors may extend each other; their chains are this short.
constexpr int kMaxExtends = 4;
constexpr int kMaxSettings = 256;

// A file that extends another holds names and settings, and perhaps kernels of
// its own.
absl::Status CheckExtendingFile(const v1::TargetDescriptor& file) {
  v1::TargetDescriptor rest = file;
  rest.clear_schema_version();
  rest.clear_extends();
  rest.clear_set();
  rest.clear_name();
  rest.clear_doc();
  rest.clear_c_kernels();
  rest.clear_c_sources();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  v1::TargetDescriptor::GetReflection()->ListFields(rest, &fields);
  if (fields.empty()) return absl::OkStatus();
  return InvalidTarget(
      {.what = "a file with `extends` can only hold `set`, `name`, `doc`, "
               "`c_kernels` and `c_sources` besides",
       .where = fields[0]->name(),
       .fix = "remove the key, or save `edgekiln targets show " +
              file.extends() + "` and change the copy"});
}

// Adds the file that it comes from.
absl::StatusOr<v1::TargetDescriptor> FindBuiltin(
    const std::string& name, std::vector<std::string>& files) {
  if (auto found = FindBuiltinDescriptor(name)) {
    files.push_back(std::move(found->file));
    return std::move(found->descriptor);
  }
  std::vector<std::string> names;
  for (const BuiltinTarget& target : BuiltinTargets()) {
    names.push_back(target.name);
  }
  return InvalidTarget(
      {.what = absl::StrCat("no built-in target \"", name, "\""),
       .where = "extends",
       .fix = DidYouMean(name, names,
                         "`edgekiln targets list` shows all of them")});
}

std::string ExtendedName(const v1::TargetDescriptor& file,
                         const std::string& base) {
  if (!file.name().empty()) return file.name();
  std::string name = base;
  for (const v1::Setting& setting : file.set()) {
    absl::StrAppend(&name, "+", setting.name(), "=", setting.value());
  }
  return name.substr(0, kMaxTargetNameBytes);
}

// Adds the files of what it extends.
absl::StatusOr<v1::TargetDescriptor> Extend(v1::TargetDescriptor file,
                                            int depth,
                                            std::vector<std::string>& files) {
  if (file.set_size() > kMaxSettings) {
    return InvalidTarget({.what = "too many settings",
                          .where = "set",
                          .limit = absl::StrCat(kMaxSettings)});
  }
  if (file.schema_version() != kSchemaVersion &&
      (file.extends().empty() || file.schema_version() != 0)) {
    return InvalidTarget({.what = "unknown schema version",
                          .where = "schema_version",
                          .limit = absl::StrCat(kSchemaVersion),
                          .need = absl::StrCat(file.schema_version())});
  }
  if (file.extends().empty()) {
    Settings merged;
    EK_RETURN_IF_ERROR(MergeSettings(file.set(), &merged));
    *file.mutable_set() = std::move(merged);
    return file;
  }
  if (depth >= kMaxExtends) {
    return InvalidTarget(
        {.what = "`extends` is nested too deeply", .where = "extends"});
  }
  EK_RETURN_IF_ERROR(CheckExtendingFile(file));
  EK_ASSIGN_OR_RETURN(v1::TargetDescriptor base,
                      FindBuiltin(file.extends(), files));
  EK_ASSIGN_OR_RETURN(v1::TargetDescriptor whole,
                      Extend(std::move(base), depth + 1, files));
  whole.set_name(ExtendedName(file, whole.name()));
  EK_RETURN_IF_ERROR(MergeSettings(file.set(), whole.mutable_set()));
  whole.mutable_c_kernels()->MergeFrom(file.c_kernels());
  whole.mutable_c_sources()->MergeFrom(file.c_sources());
  return whole;
}

}  // namespace

absl::StatusOr<v1::TargetDescriptor> WithExtended(
    v1::TargetDescriptor file, std::vector<std::string>& files) {
  EK_ASSIGN_OR_RETURN(v1::TargetDescriptor whole,
                      Extend(std::move(file), 0, files));
  if (whole.name().empty() || whole.name().size() > kMaxTargetNameBytes) {
    return InvalidTarget(
        {.what = "the target has no name or too long a name",
         .where = "name",
         .limit = absl::StrCat("1 to ", kMaxTargetNameBytes, " bytes")});
  }
  return whole;
}

}  // namespace edgekiln::target
