#include "compiler/frontend/onnx/type_check.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "compiler/frontend/onnx/needed_nodes.h"

namespace edgekiln::compiler::onnx_import {
namespace {

// Bits: what an input may be.
enum Kinds {
  kFloat = 1,
  kByte = 2,  // INT8, UINT8.
  kWide = 4,  // Other integers.
  kBool = 8,
  kAny = 15,
};

int KindOf(v1::ElementType type) {
  switch (type) {
    case v1::FLOAT16:
    case v1::FLOAT32:
    case v1::FLOAT64:
      return kFloat;
    case v1::INT8:
    case v1::UINT8:
      return kByte;
    case v1::BOOL:
      return kBool;
    default:
      return kWide;
  }
}

struct Rule {
  absl::string_view op_type;
  int kinds = kAny;
  absl::string_view inputs;  // Their digits; "*" is all.
  bool same = false;         // Inputs are all floats, all integers or all bool.
  absl::string_view fix;     // For inputs of other kinds.
};

constexpr absl::string_view kMakeFloat =
    "put a DequantizeLinear or a Cast to float before it";
constexpr absl::string_view kQuantize =
    "put a QuantizeLinear before it, or use the operator for floats";

// Sorted by operator.
constexpr Rule kRules[] = {
    {"Add", kAny, "*", true, ""},
    {"AveragePool", kFloat, "0", false,
     "use com.microsoft.QLinearAveragePool for integers, or put a "
     "DequantizeLinear or a Cast to float before it"},
    {"BatchNormalization", kFloat, "01234", false, kMakeFloat},
    {"Concat", kAny, "*", true, ""},
    {"Conv", kFloat, "012", false,
     "use ConvInteger or QLinearConv for integers, or put a DequantizeLinear "
     "or a Cast to float before it"},
    {"ConvInteger", kByte, "01", false, kQuantize},
    {"ConvTranspose", kFloat, "012", false, kMakeFloat},
    {"DequantizeLinear", kByte | kWide, "0", false,
     "leave the DequantizeLinear out: its input is real already"},
    {"Div", kAny, "*", true, ""},
    {"Elu", kFloat, "0", false, kMakeFloat},
    {"Equal", kAny, "*", true, ""},
    {"Exp", kFloat, "0", false, kMakeFloat},
    {"GRU", kFloat, "0123", false, kMakeFloat},
    {"Gelu", kFloat, "0", false, kMakeFloat},
    {"Gemm", kFloat | kWide, "012", true,
     "use MatMulInteger or QLinearMatMul for integers of 8 bits, or put a "
     "DequantizeLinear or a Cast to float before it"},
    {"GlobalAveragePool", kFloat, "0", false,
     "use com.microsoft.QLinearGlobalAveragePool for integers, or put a "
     "DequantizeLinear or a Cast to float before it"},
    {"Greater", kAny, "*", true, ""},
    {"GreaterOrEqual", kAny, "*", true, ""},
    {"HardSigmoid", kFloat, "0", false, kMakeFloat},
    {"HardSwish", kFloat, "0", false, kMakeFloat},
    {"InstanceNormalization", kFloat, "012", false, kMakeFloat},
    {"LRN", kFloat, "0", false, kMakeFloat},
    {"LSTM", kFloat, "0123", false, kMakeFloat},
    {"LayerNormalization", kFloat, "012", false, kMakeFloat},
    {"LeakyRelu", kFloat, "0", false,
     "use com.microsoft.QLinearLeakyRelu for integers, or put a "
     "DequantizeLinear or a Cast to float before it"},
    {"Less", kAny, "*", true, ""},
    {"LessOrEqual", kAny, "*", true, ""},
    {"Log", kFloat, "0", false, kMakeFloat},
    {"LogSoftmax", kFloat, "0", false, kMakeFloat},
    {"MatMul", kFloat | kWide, "01", true,
     "use MatMulInteger or QLinearMatMul for integers of 8 bits, or put a "
     "DequantizeLinear or a Cast to float before it"},
    {"MatMulInteger", kByte, "01", false, kQuantize},
    {"Max", kAny, "*", true, ""},
    {"Mean", kFloat, "*", false, kMakeFloat},
    {"Min", kAny, "*", true, ""},
    {"Mul", kAny, "*", true, ""},
    {"PRelu", kAny, "*", true, ""},
    {"QLinearConv", kByte, "03", false, kQuantize},
    {"QLinearMatMul", kByte, "03", false, kQuantize},
    {"QuantizeLinear", kFloat | kWide, "0", false,
     "leave the QuantizeLinear out, or put a DequantizeLinear before it"},
    {"Selu", kFloat, "0", false, kMakeFloat},
    {"Sigmoid", kFloat, "0", false,
     "use com.microsoft.QLinearSigmoid for integers, or put a "
     "DequantizeLinear or a Cast to float before it"},
    {"Softmax", kFloat, "0", false,
     "use com.microsoft.QLinearSoftmax for integers, or put a "
     "DequantizeLinear or a Cast to float before it"},
    {"Softplus", kFloat, "0", false, kMakeFloat},
    {"Softsign", kFloat, "0", false, kMakeFloat},
    {"Sqrt", kFloat, "0", false, kMakeFloat},
    {"Sub", kAny, "*", true, ""},
    {"Sum", kAny, "*", true, ""},
    {"Tanh", kFloat, "0", false, kMakeFloat},
    {"Where", kAny, "12", true, ""},
};

constexpr bool IsSorted() {
  for (size_t i = 1; i < std::size(kRules); ++i) {
    if (!(kRules[i - 1].op_type < kRules[i].op_type)) return false;
  }
  return true;
}
static_assert(IsSorted());

std::string NamesOf(int kinds) {
  std::string names;
  const auto add = [&](int kind, absl::string_view name) {
    if ((kinds & kind) == 0) return;
    absl::StrAppend(&names, names.empty() ? "" : ", ", name);
  };
  add(kFloat, "FLOAT16, FLOAT32, FLOAT64");
  add(kByte, "INT8, UINT8");
  add(kWide, kinds & kByte ? "wider integers" : "INT32, INT64");
  add(kBool, "BOOL");
  return names;
}

bool Covers(const Rule& rule, int input) {
  return rule.inputs == "*" ||
         (input < 10 && rule.inputs.find(static_cast<char>('0' + input)) !=
                            absl::string_view::npos);
}

// Integers of any width go together here: which widths do is for the op.
int Family(int kind) { return kind == kWide ? kByte : kind; }

}  // namespace

absl::Status CheckTypes(const Node& node, const Builder& builder) {
  const auto* rule =
      std::lower_bound(std::begin(kRules), std::end(kRules), node.op_type(),
                       [](const Rule& r, absl::string_view op_type) {
                         return r.op_type < op_type;
                       });
  if (rule == std::end(kRules) || rule->op_type != node.op_type() ||
      !IsDefaultDomain(node.proto().domain())) {
    return absl::OkStatus();
  }
  const auto input = [&](int index, v1::ElementType type) {
    return absl::StrCat("input ", index, " '", node.input(index), "' is ",
                        v1::ElementType_Name(type));
  };
  int first = -1;
  v1::ElementType wanted = v1::ELEMENT_TYPE_UNSPECIFIED;
  for (int i = 0; i < node.num_inputs(); ++i) {
    if (!Covers(*rule, i) || !node.has_input(i)) continue;
    const TensorId id = builder.value(node.input(i));
    if (id == kNoTensor) continue;
    const v1::ElementType type = builder.tensor(id).type;
    if ((KindOf(type) & rule->kinds) == 0) {
      return node.Unsupported(input(i, type), NamesOf(rule->kinds), rule->fix);
    }
    if (first < 0) {
      first = i;
      wanted = type;
    }
    if (rule->same && Family(KindOf(type)) != Family(KindOf(wanted))) {
      return node.Unsupported(
          absl::StrCat(input(i, type), ", ", input(first, wanted)),
          "one element type for all inputs",
          absl::StrCat("put a Cast to ", v1::ElementType_Name(wanted),
                       " before input ", i));
    }
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler::onnx_import
