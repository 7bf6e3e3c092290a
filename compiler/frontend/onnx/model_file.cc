#include "compiler/frontend/onnx/model_file.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "compiler/frontend/onnx/model_error.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/message_lite.h"
#include "google/protobuf/wire_format_lite.h"

namespace edgekiln::compiler::onnx_import {
namespace {

using google::protobuf::MessageLite;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// Deep enough for any exporter's nested attributes, shallow enough for a stack.
constexpr int kMaxNesting = 64;
constexpr size_t kMaxModelBytes = size_t{1} << 30;

CodedInputStream StreamOf(absl::string_view bytes) {
  return CodedInputStream(reinterpret_cast<const uint8_t*>(bytes.data()),
                          static_cast<int>(bytes.size()));
}

// Adds the fields in `bytes` to those of `message`: in several calls as in one.
bool Merge(absl::string_view bytes, MessageLite& message) {
  if (bytes.empty()) return true;
  CodedInputStream stream = StreamOf(bytes);
  stream.SetRecursionLimit(kMaxNesting);
  return message.MergePartialFromCodedStream(&stream) &&
         stream.ConsumedEntireMessage();
}

// Calls `take(value)` for every length-delimited field with this number and
// adds all other fields to `message`.
template <typename Take>
bool MergeBut(int field, absl::string_view bytes, MessageLite& message,
              const Take& take) {
  CodedInputStream stream = StreamOf(bytes);
  stream.SetRecursionLimit(kMaxNesting);
  const uint32_t wanted =
      WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  size_t done = 0;  // What is before has been added, or taken.
  while (true) {
    const size_t start = static_cast<size_t>(stream.CurrentPosition());
    const uint32_t tag = stream.ReadTag();
    if (tag == 0) break;
    if (tag != wanted) {
      if (!WireFormatLite::SkipField(&stream, tag)) return false;
      continue;
    }
    int size = 0;
    if (!stream.ReadVarintSizeAsInt(&size)) return false;
    const size_t at = static_cast<size_t>(stream.CurrentPosition());
    if (!stream.Skip(size) ||
        !Merge(bytes.substr(done, start - done), message) ||
        !take(bytes.substr(at, static_cast<size_t>(size)))) {
      return false;
    }
    done = at + static_cast<size_t>(size);
  }
  return stream.ConsumedEntireMessage() && Merge(bytes.substr(done), message);
}

bool Parse(absl::string_view bytes, ModelFile& file) {
  const auto take_initializer = [&file](absl::string_view initializer) {
    absl::string_view& raw_data = file.raw_data.emplace_back();
    return MergeBut(onnx::TensorProto::kRawDataFieldNumber, initializer,
                    *file.model.mutable_graph()->add_initializer(),
                    [&raw_data](absl::string_view value) {
                      raw_data = value;  // The last one counts.
                      return true;
                    });
  };
  const auto take_graph = [&](absl::string_view graph) {
    return MergeBut(onnx::GraphProto::kInitializerFieldNumber, graph,
                    *file.model.mutable_graph(), take_initializer);
  };
  return MergeBut(onnx::ModelProto::kGraphFieldNumber, bytes, file.model,
                  take_graph);
}

}  // namespace

absl::StatusOr<ModelFile> ParseModelFile(absl::string_view bytes) {
  if (bytes.size() > kMaxModelBytes) {
    return ModelTooLarge(absl::StrCat("the model has ", bytes.size(), " bytes"),
                         "ONNX file", absl::StrCat(kMaxModelBytes, " bytes"));
  }
  ModelFile file;
  if (!Parse(bytes, file)) {
    return InvalidModel(
        "the ONNX file is damaged, incomplete, or has graphs "
        "nested too deeply",
        absl::StrCat("ONNX file of ", bytes.size(), " bytes"));
  }
  if (!file.model.has_graph()) {
    return InvalidModel("the model has no graph", "ONNX file");
  }
  if (file.model.graph().node_size() > kMaxNodes) {
    return ModelTooLarge(absl::StrCat(file.model.graph().node_size(), " nodes"),
                         "graph", absl::StrCat(kMaxNodes, " nodes"));
  }
  return file;
}

}  // namespace edgekiln::compiler::onnx_import
