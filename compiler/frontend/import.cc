#include "compiler/frontend/import.h"

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/onnx_import.h"
#include "compiler/frontend/tflite/tflite_import.h"
#include "compiler/ir/valid_names.h"

namespace edgekiln::compiler {
namespace {

// Checks that models share with graphs of our own say what is wrong, not what
// to do about a file, and leave the place to the layers above them.
absl::Status ForModelFile(const absl::Status& status) {
  std::optional<ErrorDetail> detail = GetErrorDetail(status);
  if (!detail.has_value() || detail->fault != Fault::kUser ||
      (!detail->fix.empty() && !detail->where.empty())) {
    return status;
  }
  absl::string_view path = status.message();
  path = absl::StripSuffix(path.substr(0, path.find(detail->what)), ": ");
  if (detail->fix.empty()) {
    detail->fix = "export the model again; if it stays, change this part of it";
  }
  const bool placed = !detail->where.empty();
  if (!placed) detail->where = std::string(path);
  const absl::Status complete = MakeError(status.code(), *std::move(detail));
  return placed ? Annotate(complete, path) : complete;
}

// Values that are NaN, or infinite unless that is fine. On bits, so that the
// compiler makes one quick pass of it: this is all of a network.
template <typename Bits>
int64_t CountBad(absl::string_view bytes, Bits infinity,
                 bool infinity_is_fine) {
  const Bits magnitude = static_cast<Bits>(~Bits{0}) >> 1;
  const Bits largest = infinity_is_fine ? infinity : infinity - 1;
  int64_t count = 0;
  for (size_t at = 0; at + sizeof(Bits) <= bytes.size(); at += sizeof(Bits)) {
    Bits value;
    std::memcpy(&value, bytes.data() + at, sizeof(value));
    count += (value & magnitude) > largest;
  }
  return count;
}

// Tensors that ops read to which infinity is no ordinary value: attention is
// masked by adding or selecting minus infinity, a maximum starts from it.
std::vector<bool> ReadAsNumbers(const Graph& graph) {
  std::vector<bool> read(graph.tensors.size(), false);
  for (const Op& op : graph.ops) {
    const v1::Binary::Function function = op.attributes.binary().function();
    if (op.attributes.has_add() || op.attributes.has_select() ||
        function == v1::Binary::MINIMUM || function == v1::Binary::MAXIMUM) {
      continue;
    }
    for (const TensorId id : op.inputs) {
      if (id != kNoTensor) read[static_cast<size_t>(id)] = true;
    }
  }
  return read;
}

// Says whether the model file has a tensor of this name.
using HasTensor = absl::FunctionRef<bool(const std::string& name)>;

// Turned copies of "w" are called "w-2" and so on: the name of the model's own.
std::string PlaceOf(const std::string& name, HasTensor has_tensor) {
  std::string own = name;
  while (!has_tensor(own)) {
    const size_t dash = own.find_last_not_of("0123456789");
    const bool copy = dash != std::string::npos && dash > 0 &&
                      dash + 1 < own.size() && own[dash] == '-';
    if (!copy) {
      own = name;
      break;
    }
    own.resize(dash);
  }
  return absl::StrCat("initializer '", own, "'");
}

// A diverged training leaves weights that no number of samples will calibrate.
absl::Status CheckConstantsAreFinite(const Graph& graph, HasTensor has_tensor) {
  const std::vector<bool> strict = ReadAsNumbers(graph);
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    const Tensor& tensor = graph.tensors[i];
    if (!tensor.is_constant()) continue;
    int64_t bad = 0;
    if (tensor.type == v1::FLOAT32) {
      bad = CountBad<uint32_t>(*tensor.data, 0x7f800000, !strict[i]);
    } else if (tensor.type == v1::FLOAT64) {
      bad = CountBad<uint64_t>(*tensor.data, uint64_t{0x7ff} << 52, !strict[i]);
    } else if (tensor.type == v1::FLOAT16) {
      bad = CountBad<uint16_t>(*tensor.data, 0x7c00, !strict[i]);
    }
    if (bad == 0) continue;
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        {.fault = Fault::kUser,
         .reason = "MODEL_NOT_FINITE",
         .what = absl::StrCat(bad, " of ", tensor.num_elements(),
                              " values of a constant are NaN or infinite"),
         .where = PlaceOf(tensor.name, has_tensor),
         .need = "finite weights and constants",
         .fix = tensor.type == v1::FLOAT16
                    ? "float16 ends at 65504: keep this constant in float32 "
                      "when converting the model, or make it smaller; if "
                      "training diverged, export an earlier checkpoint"
                    : "train the model again, or from the last checkpoint "
                      "whose weights are finite, and export it again"});
  }
  return absl::OkStatus();
}

// Else what it gives becomes NaN or infinite, whatever the samples.
absl::Status CheckVariances(const Graph& graph, HasTensor has_tensor) {
  for (const Op& op : graph.ops) {
    if (!op.attributes.has_batch_normalization()) continue;
    const double epsilon = op.attributes.batch_normalization().epsilon();
    const Tensor& variance = graph.tensors[op.inputs[4]];
    if (!variance.is_constant() || variance.type != v1::FLOAT32) continue;
    for (size_t at = 0; at + sizeof(float) <= variance.data->size();
         at += sizeof(float)) {
      float value = 0;
      std::memcpy(&value, variance.data->data() + at, sizeof(value));
      if (value + epsilon > 0) continue;
      return MakeError(
          absl::StatusCode::kInvalidArgument,
          {.fault = Fault::kUser,
           .reason = "MODEL_NOT_FINITE",
           .what = absl::StrCat("a BatchNormalization divides by the square "
                                "root of a variance of ",
                                value, " and an epsilon of ", epsilon),
           .where = absl::StrCat("layer ", op.id, ", ",
                                 PlaceOf(variance.name, has_tensor)),
           .need = "a sum of both above 0 for every channel",
           .fix = "look for what changed the variances after training (a "
                  "conversion, or weights that were edited), and export the "
                  "model again"});
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Graph> Checked(absl::StatusOr<Graph> graph,
                              HasTensor has_tensor) {
  if (!graph.ok()) return ForModelFile(graph.status());
  MakeNamesValid(*graph);
  EK_RETURN_IF_ERROR(CheckConstantsAreFinite(*graph, has_tensor));
  EK_RETURN_IF_ERROR(CheckVariances(*graph, has_tensor));
  return graph;
}

// A TensorFlow Lite file leaves nothing open.
absl::Status CheckNothingIsBound(const ImportOptions& options) {
  const char* option = !options.binds.empty()            ? "--bind"
                       : !options.bound_inputs.empty()   ? "--bind-input"
                       : !options.external_files.empty() ? "--external-data"
                                                         : nullptr;
  if (option == nullptr) return absl::OkStatus();
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.fault = Fault::kUser,
       .reason = "BINDING_INVALID",
       .what = absl::StrCat(option, " is for ONNX models"),
       .where = "a TensorFlow Lite model",
       .need = "no binding: its shapes are fixed and its weights are inside",
       .fix = absl::StrCat("leave ", option, " out")});
}

}  // namespace

ModelFormat SniffFormat(absl::string_view bytes) {
  if (bytes.size() >= 8 && bytes.substr(4, 4) == "TFL3") {
    return ModelFormat::kTflite;
  }
  // Writers put ModelProto.ir_version, field 1, first: tag 0x08 and a small
  // number. Others are told by field 7 or 8, graph or opset_import.
  if (bytes.size() >= 2 && bytes[0] == 0x08 && bytes[1] > 0 && bytes[1] < 64) {
    return ModelFormat::kOnnx;
  }
  if (bytes.size() >= 2 && (bytes[0] == 0x3a || bytes[0] == 0x42)) {
    return ModelFormat::kOnnx;
  }
  return ModelFormat::kUnknown;
}

absl::StatusOr<Graph> ImportModel(absl::string_view bytes,
                                  const ImportOptions& options) {
  switch (SniffFormat(bytes)) {
    case ModelFormat::kTflite:
      EK_RETURN_IF_ERROR(CheckNothingIsBound(options));
      return Checked(ImportTflite(bytes),
                     [](const std::string&) { return true; });
    case ModelFormat::kOnnx:
      return Checked(ImportOnnx(bytes, options), [&](const std::string& name) {
        return OnnxHasTensor(bytes, name);
      });
    case ModelFormat::kUnknown:
      break;
  }
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "MODEL_FORMAT",
                    .what = bytes.empty() ? "the file is empty"
                                          : "the file is neither a TensorFlow "
                                            "Lite nor an ONNX model",
                    .where = "first bytes of the file",
                    .need = "a flatbuffer with identifier TFL3 or an ONNX "
                            "ModelProto",
                    .fix = "export the model as .tflite or .onnx"});
}

}  // namespace edgekiln::compiler
