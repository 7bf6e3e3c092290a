#include "compiler/frontend/onnx/external_data.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/model_error.h"

namespace edgekiln::compiler::onnx_import {
namespace {

// A whole number in a key-value pair of external data.
absl::StatusOr<int64_t> Number(const std::string& value, absl::string_view key,
                               absl::string_view name) {
  int64_t number = 0;
  if (absl::SimpleAtoi(value, &number) && number >= 0) return number;
  return TensorError(
      absl::StatusCode::kInvalidArgument, name,
      absl::StrCat("its ", key, " in another file is '", value, "'"),
      "export the model again");
}

void AddLocation(const onnx::TensorProto& tensor, std::set<std::string>& out) {
  if (tensor.data_location() != onnx::TensorProto::EXTERNAL) return;
  for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
    if (entry.key() == "location") out.insert(entry.value());
  }
}

void AddLocations(const onnx::GraphProto& graph, std::set<std::string>& out);

template <typename Nodes>
void AddLocationsOf(const Nodes& nodes, std::set<std::string>& out) {
  for (const onnx::NodeProto& node : nodes) {
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      AddLocation(attribute.t(), out);
      if (attribute.has_g()) AddLocations(attribute.g(), out);
    }
  }
}

// Also of branches that are not taken: whose files those are is the model's to
// say, not the condition's.
void AddLocations(const onnx::GraphProto& graph, std::set<std::string>& out) {
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    AddLocation(tensor, out);
  }
  AddLocationsOf(graph.node(), out);
}

}  // namespace

ExternalData::ExternalData(const Files& files) : files_(files) {
  for (const auto& [location, bytes] : files) {
    max_named_bytes_ += 2 * static_cast<int64_t>(bytes.size());
  }
}

absl::Status ExternalData::CheckAllAreNamed(
    const onnx::ModelProto& model) const {
  if (files_.empty()) return absl::OkStatus();
  std::set<std::string> named;
  AddLocations(model.graph(), named);
  for (const onnx::FunctionProto& function : model.functions()) {
    AddLocationsOf(function.node(), named);
  }
  for (const auto& [location, bytes] : files_) {
    if (named.contains(location)) continue;
    return BadBinding(
        absl::StrCat("no tensor of the model has its values in the file '",
                     location, "'"),
        "--external-data",
        named.empty()
            ? "no file: the model holds all of its values"
            : OneOf(std::vector<std::string>(named.begin(), named.end())),
        absl::StrCat("correct or leave out --external-data '", location,
                     "=FILE'"));
  }
  return absl::OkStatus();
}

absl::StatusOr<absl::string_view> ExternalData::Values(
    const onnx::TensorProto& proto, absl::string_view name, int64_t bytes) {
  std::string location;
  int64_t offset = 0;
  int64_t length = bytes;
  for (const onnx::StringStringEntryProto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") {
      EK_ASSIGN_OR_RETURN(offset, Number(entry.value(), "offset", name));
    }
    if (entry.key() == "length") {
      EK_ASSIGN_OR_RETURN(length, Number(entry.value(), "length", name));
    }
  }
  const auto file = files_.find(location);
  if (file == files_.end()) {
    return TensorError(
        absl::StatusCode::kInvalidArgument, name,
        absl::StrCat("its values are in the file '", location,
                     "', which did not come with the model"),
        absl::StrCat("hand the file over, too: --external-data '", location,
                     "=FILE', or save the model as one file: onnx.save(model, "
                     "path, save_as_external_data=False)"));
  }
  const int64_t size = static_cast<int64_t>(file->second.size());
  if (length != bytes || offset > size || length > size - offset) {
    return TensorError(
        absl::StatusCode::kInvalidArgument, name,
        absl::StrCat("its values are ", length, " bytes from ", offset,
                     " of the file '", location, "', which has ", size,
                     "; its shape needs ", bytes),
        absl::StrCat("give the file that was saved with the model: "
                     "--external-data '",
                     location, "=FILE'"));
  }
  const absl::string_view values = file->second.substr(
      static_cast<size_t>(offset), static_cast<size_t>(length));
  if (ranges_.emplace(values.data(), values.size()).second) {
    named_bytes_ += length;
  }
  if (named_bytes_ <= max_named_bytes_) return values;
  return TensorError(
      absl::StatusCode::kInvalidArgument, name,
      absl::StrCat("up to it, the tensors name ", named_bytes_,
                   " bytes of the files beside the model, over and over"),
      "export the model again, each tensor with values of its own");
}

}  // namespace edgekiln::compiler::onnx_import
