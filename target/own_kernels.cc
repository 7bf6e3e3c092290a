#include "target/own_kernels.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "target/expression.h"
#include "target/kernel_rows.h"
#include "target/kernel_variables.h"
#include "target/nearest_name.h"

namespace edgekiln::target {
namespace {

constexpr int kMaxRows = 256;
constexpr int kMaxSources = 256;

// What evaluates quickly, whatever its text.
absl::Status CheckNoSums(const google::protobuf::Message& message,
                         const std::string& where) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const auto* const field : fields) {
    const int count =
        field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    const bool is_text =
        field->type() == google::protobuf::FieldDescriptor::TYPE_STRING;
    const bool is_message =
        field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE;
    for (int i = 0; i < count; ++i) {
      if (is_text) {
        const std::string text =
            field->is_repeated()
                ? reflection.GetRepeatedString(message, field, i)
                : reflection.GetString(message, field);
        if (!absl::StrContains(text, "sum")) continue;
        const auto compiled =
            Expression::Compile(text, {}, KernelVariableNames());
        const std::vector<std::string> names(KernelVariableNames().size());
        if (compiled.ok() && !compiled->AsCalls(names).has_value()) {
          return InvalidKernel("rows of a target have no sum()",
                               absl::StrCat(where, ": ", field->name()),
                               "write it without a sum");
        }
      } else if (is_message) {
        EK_RETURN_IF_ERROR(
            CheckNoSums(field->is_repeated()
                            ? reflection.GetRepeatedMessage(message, field, i)
                            : reflection.GetMessage(message, field),
                        absl::StrCat(where, ": ", field->name())));
      }
    }
  }
  return absl::OkStatus();
}

// What only the rows of targets must obey.
absl::Status CheckOwnRow(const v1::CKernel& row, const KernelSources& sources,
                         const std::string& where) {
  const auto at = [&where](absl::string_view field) {
    return absl::StrCat(where, ": ", field);
  };
  if (!row.has_call()) {
    return InvalidKernel(
        "the row calls no function", at("call"),
        "rows of a target have a call of a function of their own");
  }
  if (absl::StartsWith(row.call().function(), "$")) {
    return InvalidKernel(
        "built-in functions cannot be called by a target's rows",
        at("call: function"), "call a function of your own");
  }
  if (row.call().table_entry()) {
    return InvalidKernel("entries of tables are for built-in kernels",
                         at("call: table_entry"), "remove the key");
  }
  if (row.ops().empty()) {
    return InvalidKernel("ops is missing", at("ops"),
                         "name the ops that the function computes");
  }
  if (row.cost().provenance() == v1::PROVENANCE_UNSPECIFIED) {
    return InvalidKernel("provenance is missing", at("cost: provenance"),
                         "PUBLISHED, READ, FITTED or ASSUMED");
  }
  if (row.cost().scales_size() > 0) {
    return InvalidKernel("costs are those of the target's own processor",
                         at("cost: scales"), "remove the key");
  }
  EK_RETURN_IF_ERROR(CheckNoSums(row, where));
  if (sources.empty()) return absl::OkStatus();
  std::vector<std::string> paths;
  for (const v1::CSourceTree::File& file : sources) {
    if (IsIncludedAs(file.path(), row.call().header())) return absl::OkStatus();
    paths.push_back(file.path());
  }
  return InvalidKernel(
      absl::StrCat("no file of c_sources is \"", row.call().header(), "\""),
      at("call: header"),
      DidYouMean(row.call().header(), paths, "add the file to c_sources"));
}

absl::Status CheckSources(const KernelSources& sources) {
  if (sources.size() > kMaxSources) {
    return TooManyInKernel(sources.size(), kMaxSources, "c_sources");
  }
  std::set<std::string> paths;
  for (int i = 0; i < sources.size(); ++i) {
    const std::string& path = sources[i].path();
    const std::string where = absl::StrCat("c_sources[", i, "]: path");
    if (!IsKernelPath(path)) {
      return InvalidKernel(
          absl::StrCat("\"", path, "\" is not a path of a file"), where,
          kKernelPathFix);
    }
    if (!absl::EndsWith(path, ".c") && !absl::EndsWith(path, ".h") &&
        !absl::EndsWith(path, ".S")) {
      return InvalidKernel(
          absl::StrCat("\"", path, "\" is not a .c, .h or .S file"), where,
          "rename it, or leave it out");
    }
    if (!paths.insert(path).second) {
      return InvalidKernel(absl::StrCat("\"", path, "\" occurs twice"), where,
                           "keep one of them");
    }
  }
  for (int i = 0; i < sources.size(); ++i) {
    const std::string& path = sources[i].path();
    for (size_t at = path.find('/'); at != std::string::npos;
         at = path.find('/', at + 1)) {
      if (paths.count(path.substr(0, at)) == 0) continue;
      return InvalidKernel(
          absl::StrCat("\"", path.substr(0, at), "\" is a file as well"),
          absl::StrCat("c_sources[", i, "]: path"),
          "rename the file or the folder");
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool IsIncludedAs(absl::string_view path, absl::string_view header) {
  return path == header || absl::EndsWith(path, absl::StrCat("/", header));
}

absl::Status CheckOwnKernels(const KernelRows& rows,
                             const KernelSources& sources) {
  if (rows.size() > kMaxRows)
    return TooManyInKernel(rows.size(), kMaxRows, "c_kernels");
  EK_RETURN_IF_ERROR(CheckSources(sources));
  for (int i = 0; i < rows.size(); ++i) {
    const std::string where =
        absl::StrCat("c_kernels[", i, "] \"", rows[i].name(), "\"");
    EK_RETURN_IF_ERROR(CheckKernelRow(rows[i], where));
    EK_RETURN_IF_ERROR(CheckOwnRow(rows[i], sources, where));
  }
  if (rows.empty() && !sources.empty()) {
    return InvalidKernel(
        "there are c_sources and no c_kernels", "c_sources",
        "add rows that call the functions, or remove the files");
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::target
