#include <cmath>
#include <cstring>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "compiler/ir/attribute_text.h"
#include "compiler/ir/text.h"
#include "compiler/ir/text_scanner.h"

namespace edgekiln::compiler {
namespace {

// Constants up to this many elements print as a list of values.
constexpr int64_t kListedElements = 16;

template <typename T>
T ElementAt(absl::string_view data, int64_t index) {
  T value;
  std::memcpy(&value, data.data() + index * sizeof(T), sizeof(T));
  return value;
}

// One element as text; "" if it is written as bits (NaN, float16, uint64).
std::string ElementText(v1::ElementType type, absl::string_view data,
                        int64_t i) {
  switch (type) {
    case v1::FLOAT32: {
      const auto value = ElementAt<float>(data, i);
      return std::isnan(value) ? "" : RealText(value);
    }
    case v1::FLOAT64: {
      const auto value = ElementAt<double>(data, i);
      return std::isnan(value) ? "" : RealText(value);
    }
    case v1::INT8:
      return absl::StrCat(ElementAt<int8_t>(data, i));
    case v1::UINT8:
    case v1::BOOL:
      return absl::StrCat(ElementAt<uint8_t>(data, i));
    case v1::INT16:
      return absl::StrCat(ElementAt<int16_t>(data, i));
    case v1::UINT16:
      return absl::StrCat(ElementAt<uint16_t>(data, i));
    case v1::UINT32:
      return absl::StrCat(ElementAt<uint32_t>(data, i));
    case v1::INT32:
      return absl::StrCat(ElementAt<int32_t>(data, i));
    case v1::INT64:
      return absl::StrCat(ElementAt<int64_t>(data, i));
    default:
      return "";
  }
}

std::string ConstantText(const Tensor& tensor, const PrintOptions& options) {
  const absl::string_view data = *tensor.data;
  const int64_t bytes = std::max<int64_t>(1, ElementBytes(tensor.type));
  const int64_t elements = std::ssize(data) / bytes;
  if (options.elide_constants_above >= 0 &&
      elements > options.elide_constants_above) {
    return absl::StrCat("constant sha256:", DigestOf(data).hash);
  }
  std::string hex = absl::StrCat("constant 0x", absl::BytesToHexString(data));
  if (elements > kListedElements || std::ssize(data) != elements * bytes) {
    return hex;
  }
  std::vector<std::string> values;
  for (int64_t i = 0; i < elements; ++i) {
    values.push_back(ElementText(tensor.type, data, i));
    if (values.back().empty()) return hex;
  }
  return absl::StrCat("constant [", absl::StrJoin(values, ", "), "]");
}

std::string QuantizationText(const Quantization& q) {
  if (q.scale.size() == 1 && q.zero_point.size() == 1 && q.axis == 0) {
    return absl::StrCat(" scale ", RealText(q.scale[0]), " zero ",
                        q.zero_point[0]);
  }
  std::vector<std::string> scales;
  for (const float scale : q.scale) scales.push_back(RealText(scale));
  return absl::StrCat(" axis ", q.axis, " scale [", absl::StrJoin(scales, ", "),
                      "] zero [", absl::StrJoin(q.zero_point, ", "), "]");
}

std::string DeclarationText(const Tensor& tensor) {
  std::string text =
      absl::StrCat(NameText(tensor.name), " : ",
                   absl::AsciiStrToLower(v1::ElementType_Name(tensor.type)),
                   "[", absl::StrJoin(tensor.shape, ","), "]");
  if (tensor.quantization.has_value()) {
    absl::StrAppend(&text, QuantizationText(*tensor.quantization));
  }
  return text;
}

// " converted float32 HALF_EVEN" for a port that the caller converts.
std::string ConversionText(const std::vector<ConvertedPort>& ports,
                           size_t index) {
  for (const ConvertedPort& port : ports) {
    if (port.port != static_cast<int32_t>(index)) continue;
    return absl::StrCat(" converted ",
                        absl::AsciiStrToLower(v1::ElementType_Name(port.type)),
                        " ", v1::Rounding_Name(port.rounding));
  }
  return "";
}

class Printer {
 public:
  Printer(const Graph& graph, const PrintOptions& options)
      : graph_(graph),
        options_(options),
        printed_(graph.tensors.size(), false) {}

  std::string Run() {
    if (!graph_.name.empty()) {
      absl::StrAppend(&text_, "graph ", QuotedText(graph_.name), "\n");
    }
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      const TensorId id = graph_.inputs[i];
      if (!Exists(id)) continue;
      printed_[id] = true;
      absl::StrAppend(&text_, DeclarationText(graph_.tensors[id]), " = input",
                      ConversionText(graph_.converted_inputs, i), "\n");
    }
    for (size_t i = 0; i < graph_.ops.size(); ++i) PrintOp(graph_.ops[i]);
    for (const TensorId id : graph_.outputs) PrintConstant(id);
    // Constants that nothing reads are part of the graph all the same.
    for (size_t i = 0; i < graph_.tensors.size(); ++i) {
      PrintConstant(static_cast<TensorId>(i));
    }
    text_ += "return";
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      absl::StrAppend(&text_, i == 0 ? " " : ", ",
                      References({graph_.outputs[i]}),
                      ConversionText(graph_.converted_outputs, i));
    }
    for (size_t i = 0; i < graph_.states.size(); ++i) {
      const State& state = graph_.states[i];
      absl::StrAppend(&text_, i == 0 ? " states " : ", ",
                      References({state.input}), " = ",
                      References({state.output}));
    }
    text_ += "\n";
    return std::move(text_);
  }

 private:
  bool Exists(TensorId id) const {
    return id >= 0 && id < std::ssize(graph_.tensors);
  }

  void PrintConstant(TensorId id) {
    if (!Exists(id) || printed_[id]) return;
    const Tensor& tensor = graph_.tensors[id];
    if (!tensor.is_constant()) return;
    printed_[id] = true;
    absl::StrAppend(&text_, DeclarationText(tensor), " = ",
                    ConstantText(tensor, options_), "\n");
  }

  std::string References(const std::vector<TensorId>& ids) const {
    std::vector<std::string> names;
    for (const TensorId id : ids) {
      if (id == kNoTensor) {
        names.emplace_back("_");
      } else if (Exists(id)) {
        names.push_back(NameText(graph_.tensors[id].name));
      } else {
        names.push_back(absl::StrCat("%\"invalid ", id, "\""));
      }
    }
    return absl::StrJoin(names, ", ");
  }

  void PrintOp(const Op& op) {
    for (const TensorId id : op.inputs) PrintConstant(id);
    std::vector<std::string> results;
    for (const TensorId id : op.outputs) {
      if (!Exists(id)) continue;
      printed_[id] = true;
      results.push_back(DeclarationText(graph_.tensors[id]));
    }
    const std::string kind(op.kind());
    absl::StrAppend(&text_, absl::StrJoin(results, ", "), " = ",
                    kind.empty() ? "unspecified" : kind, "(",
                    References(op.inputs), ")", PrintAttributes(op.attributes),
                    " id ", op.id);
    if (!op.name.empty()) {
      absl::StrAppend(&text_, " name ", QuotedText(op.name));
    }
    absl::StrAppend(&text_, "\n");
  }

  const Graph& graph_;
  const PrintOptions& options_;
  std::vector<bool> printed_;
  std::string text_;
};

}  // namespace

std::string PrintGraph(const Graph& graph, const PrintOptions& options) {
  return Printer(graph, options).Run();
}

}  // namespace edgekiln::compiler
