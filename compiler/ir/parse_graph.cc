#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/attribute_text.h"
#include "compiler/ir/text.h"
#include "compiler/ir/text_scanner.h"

namespace edgekiln::compiler {
namespace {

constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();
constexpr int64_t kMinInt32 = std::numeric_limits<int32_t>::min();
constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();

template <typename T>
void AppendBytes(T value, std::string& data) {
  data.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

template <typename T>
absl::Status AppendInt(TextScanner& scanner, std::string& data) {
  EK_ASSIGN_OR_RETURN(const int64_t value,
                      scanner.Int(std::numeric_limits<T>::min(),
                                  std::numeric_limits<T>::max()));
  AppendBytes(static_cast<T>(value), data);
  return absl::OkStatus();
}

absl::Status AppendElement(v1::ElementType type, TextScanner& scanner,
                           std::string& data) {
  switch (type) {
    case v1::FLOAT32: {
      EK_ASSIGN_OR_RETURN(const float value, scanner.Float());
      AppendBytes(value, data);
      return absl::OkStatus();
    }
    case v1::FLOAT64: {
      EK_ASSIGN_OR_RETURN(const double value, scanner.Double());
      AppendBytes(value, data);
      return absl::OkStatus();
    }
    case v1::INT8:
      return AppendInt<int8_t>(scanner, data);
    case v1::UINT8:
    case v1::BOOL:
      return AppendInt<uint8_t>(scanner, data);
    case v1::INT16:
      return AppendInt<int16_t>(scanner, data);
    case v1::UINT16:
      return AppendInt<uint16_t>(scanner, data);
    case v1::UINT32:
      return AppendInt<uint32_t>(scanner, data);
    case v1::INT32:
      return AppendInt<int32_t>(scanner, data);
    case v1::INT64:
      return AppendInt<int64_t>(scanner, data);
    default:
      return scanner.Error("values of this type are written as 0x...");
  }
}

class Parser {
 public:
  explicit Parser(absl::string_view text) : scanner_(text) {}

  absl::StatusOr<Graph> Run() {
    if (scanner_.TakeWord("graph")) {
      EK_ASSIGN_OR_RETURN(graph_.name, scanner_.String());
    }
    while (!scanner_.TakeWord("return")) EK_RETURN_IF_ERROR(Statement());
    if (scanner_.NextIs('%')) {
      do {
        EK_ASSIGN_OR_RETURN(const TensorId id, Reference());
        EK_RETURN_IF_ERROR(OptionalConversion(graph_.outputs.size(),
                                              graph_.converted_outputs));
        graph_.outputs.push_back(id);
      } while (scanner_.Take(','));
    }
    if (scanner_.TakeWord("states")) {
      do {
        EK_ASSIGN_OR_RETURN(const TensorId input, Reference());
        EK_RETURN_IF_ERROR(scanner_.Expect('='));
        EK_ASSIGN_OR_RETURN(const TensorId output, Reference());
        graph_.states.push_back({input, output});
      } while (scanner_.Take(','));
    }
    if (!scanner_.AtEnd()) return scanner_.Error("end of text expected");
    EK_RETURN_IF_ERROR(VerifyGraph(graph_));
    return std::move(graph_);
  }

 private:
  // [converted TYPE ROUNDING], of port `index`.
  absl::Status OptionalConversion(size_t index,
                                  std::vector<ConvertedPort>& ports) {
    if (!scanner_.TakeWord("converted")) return absl::OkStatus();
    ConvertedPort port{.port = static_cast<int32_t>(index)};
    EK_ASSIGN_OR_RETURN(const absl::string_view type, scanner_.Word());
    if (!v1::ElementType_Parse(absl::AsciiStrToUpper(type), &port.type)) {
      return scanner_.Error(absl::StrCat("unknown element type '", type, "'"));
    }
    EK_ASSIGN_OR_RETURN(const absl::string_view rounding, scanner_.Word());
    if (!v1::Rounding_Parse(std::string(rounding), &port.rounding)) {
      return scanner_.Error(absl::StrCat("unknown rounding '", rounding, "'"));
    }
    ports.push_back(port);
    return absl::OkStatus();
  }

  // %a : type = input [converted ...] | constant ... | kind(...) ...
  absl::Status Statement() {
    std::vector<TensorId> results;
    do {
      EK_ASSIGN_OR_RETURN(const TensorId id, Declaration());
      results.push_back(id);
    } while (scanner_.Take(','));
    EK_RETURN_IF_ERROR(scanner_.Expect('='));
    if (scanner_.TakeWord("input")) {
      if (results.size() != 1) return scanner_.Error("one result expected");
      graph_.inputs.push_back(results[0]);
      return OptionalConversion(graph_.inputs.size() - 1,
                                graph_.converted_inputs);
    }
    if (scanner_.TakeWord("constant")) {
      if (results.size() != 1) return scanner_.Error("one result expected");
      return Constant(graph_.tensors[results[0]]);
    }
    return Operation(std::move(results));
  }

  absl::StatusOr<TensorId> Declaration() {
    Tensor tensor;
    EK_ASSIGN_OR_RETURN(tensor.name, scanner_.Name());
    const auto id = static_cast<TensorId>(graph_.tensors.size());
    if (!ids_.emplace(tensor.name, id).second) {
      return scanner_.Error(
          absl::StrCat(NameText(tensor.name), " is defined twice"));
    }
    EK_RETURN_IF_ERROR(scanner_.Expect(':'));
    EK_ASSIGN_OR_RETURN(const absl::string_view type, scanner_.Word());
    if (!v1::ElementType_Parse(absl::AsciiStrToUpper(type), &tensor.type)) {
      return scanner_.Error(absl::StrCat("unknown element type '", type, "'"));
    }
    EK_RETURN_IF_ERROR(scanner_.Expect('['));
    if (!scanner_.Take(']')) {
      do {
        EK_ASSIGN_OR_RETURN(const int64_t extent, scanner_.Int(0, kMaxInt64));
        tensor.shape.push_back(extent);
      } while (scanner_.Take(','));
      EK_RETURN_IF_ERROR(scanner_.Expect(']'));
    }
    EK_RETURN_IF_ERROR(OptionalQuantization(tensor));
    graph_.tensors.push_back(std::move(tensor));
    return id;
  }

  absl::Status OptionalQuantization(Tensor& tensor) {
    Quantization q;
    const bool has_axis = scanner_.TakeWord("axis");
    if (has_axis) {
      EK_ASSIGN_OR_RETURN(const int64_t axis,
                          scanner_.Int(kMinInt32, kMaxInt32));
      q.axis = static_cast<int32_t>(axis);
    }
    if (!scanner_.TakeWord("scale")) {
      return has_axis ? scanner_.Error("'scale' expected") : absl::OkStatus();
    }
    EK_RETURN_IF_ERROR(OneOrList([&]() -> absl::Status {
      EK_ASSIGN_OR_RETURN(const float scale, scanner_.Float());
      q.scale.push_back(scale);
      return absl::OkStatus();
    }));
    if (!scanner_.TakeWord("zero")) return scanner_.Error("'zero' expected");
    EK_RETURN_IF_ERROR(OneOrList([&]() -> absl::Status {
      EK_ASSIGN_OR_RETURN(const int64_t zero,
                          scanner_.Int(kMinInt32, kMaxInt32));
      q.zero_point.push_back(static_cast<int32_t>(zero));
      return absl::OkStatus();
    }));
    tensor.quantization = std::move(q);
    return absl::OkStatus();
  }

  // read() once, or for each element of [a, b, ...].
  template <typename Read>
  absl::Status OneOrList(const Read& read) {
    if (!scanner_.Take('[')) return read();
    if (scanner_.Take(']')) return absl::OkStatus();
    do {
      EK_RETURN_IF_ERROR(read());
    } while (scanner_.Take(','));
    return scanner_.Expect(']');
  }

  absl::Status Constant(Tensor& tensor) {
    std::string data;
    if (scanner_.NextIs('[')) {
      EK_RETURN_IF_ERROR(OneOrList(
          [&] { return AppendElement(tensor.type, scanner_, data); }));
    } else if (scanner_.TakeWord("sha256")) {
      return scanner_.Error("the values of this constant were left out");
    } else {
      EK_RETURN_IF_ERROR(TakeHexPrefix());
      EK_ASSIGN_OR_RETURN(data, scanner_.HexBytes());
    }
    tensor.data = ConstantData(std::move(data));
    return absl::OkStatus();
  }

  absl::Status TakeHexPrefix() {
    if (scanner_.Take('0') && scanner_.Take('x')) return absl::OkStatus();
    return scanner_.Error("'[' or 0x expected");
  }

  absl::Status Operation(std::vector<TensorId> results) {
    Op op;
    op.outputs = std::move(results);
    EK_ASSIGN_OR_RETURN(const absl::string_view kind, scanner_.Word());
    EK_RETURN_IF_ERROR(scanner_.Expect('('));
    if (!scanner_.Take(')')) {
      do {
        EK_ASSIGN_OR_RETURN(const TensorId id, ReferenceOrNone());
        op.inputs.push_back(id);
      } while (scanner_.Take(','));
      EK_RETURN_IF_ERROR(scanner_.Expect(')'));
    }
    EK_RETURN_IF_ERROR(ParseAttributes(kind, scanner_, op.attributes));
    if (scanner_.TakeWord("id")) {
      EK_ASSIGN_OR_RETURN(const absl::string_view id, scanner_.Word());
      op.id = std::string(id);
    } else {
      op.id = absl::StrCat(kind, "_", graph_.ops.size());
    }
    if (scanner_.TakeWord("name")) {
      EK_ASSIGN_OR_RETURN(op.name, scanner_.String());
    }
    graph_.ops.push_back(std::move(op));
    return absl::OkStatus();
  }

  absl::StatusOr<TensorId> Reference() {
    EK_ASSIGN_OR_RETURN(const std::string name, scanner_.Name());
    const auto it = ids_.find(name);
    if (it == ids_.end()) {
      return scanner_.Error(absl::StrCat(NameText(name), " is not defined"));
    }
    return it->second;
  }

  absl::StatusOr<TensorId> ReferenceOrNone() {
    if (scanner_.TakeWord("_")) return kNoTensor;
    return Reference();
  }

  TextScanner scanner_;
  Graph graph_;
  absl::flat_hash_map<std::string, TensorId> ids_;
};

}  // namespace

absl::StatusOr<Graph> ParseGraph(absl::string_view text) {
  return Parser(text).Run();
}

}  // namespace edgekiln::compiler
