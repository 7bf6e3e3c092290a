#include "compiler/codegen/c/kernel_call.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/codegen/c/emit_common.h"
#include "compiler/codegen/c/weight_order.h"
#include "compiler/passes/clamps.h"
#include "ops/exp_table.h"
#include "ops/quantized_parameters.h"

namespace edgekiln::compiler {
namespace {

using V = KernelVariable;

constexpr size_t kEntryPointers = 5;
constexpr int64_t kMaxScratchBytes = int64_t{1} << 30;

class CallWriter {
 public:
  CallWriter(StepWriter& w, const KernelLibrary& library,
             const v1::CKernel& kernel, KernelFacts& facts)
      : w_(w), library_(library), kernel_(kernel), facts_(facts) {}

  absl::Status Emit() {
    const std::string& bytes = kernel_.scratch_bytes_expr();
    if (!bytes.empty()) {
      EK_ASSIGN_OR_RETURN(facts_[V::kScratchBytes], Value(bytes));
      if (facts_[V::kScratchBytes] > kMaxScratchBytes) {
        return NoValue(absl::StrCat(
            "scratch_bytes_expr gives ", facts_[V::kScratchBytes],
            " bytes; at most ", kMaxScratchBytes, " are possible"));
      }
      if (facts_[V::kScratchBytes] > 0) {
        scratch_ = w_.Scratch(v1::UINT8, facts_[V::kScratchBytes]);
      }
    }
    for (const int32_t i : kernel_.overwrites()) {
      if (w_.Has(static_cast<size_t>(i)))
        w_.MayOverwrite(static_cast<size_t>(i));
    }
    return kernel_.call().table_entry() ? EmitEntry() : EmitDirect();
  }

 private:
  absl::Status NoValue(absl::string_view what) const {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     {.fault = Fault::kUser,
                      .reason = "KERNELS_INVALID",
                      .what = std::string(what),
                      .where = Where(),
                      .fix = "correct the row, or add a condition to `where` "
                             "that this layer does not meet"});
  }

  absl::StatusOr<int64_t> Value(const std::string& expression) const {
    auto value = library_.Evaluate(expression, facts_);
    if (value.ok()) return value;
    return NoValue(absl::StrCat("the expression \"", expression,
                                "\" has no value: ", value.status().message()));
  }

  std::string Where() const { return absl::StrCat("kernel ", kernel_.name()); }

  absl::Status EmitDirect() {
    const v1::CCall& call = kernel_.call();
    std::vector<std::string> texts(call.arguments_size());
    // From behind: the order in which arrays are numbered.
    for (int i = call.arguments_size(); i-- > 0;) {
      EK_ASSIGN_OR_RETURN(texts[i], Text(call.arguments(i)),
                          absl::StrCat(Where(), ": arguments[", i, "]"));
    }
    absl::string_view function = call.function();
    std::string name(function);
    if (absl::ConsumePrefix(&function, "$")) {
      name = w_.Use(function);
    } else {
      w_.Include(call.header());
    }
    const std::string text =
        absl::StrCat(name, "(", absl::StrJoin(texts, ", "), ")");
    if (call.returns_status()) {
      w_.code().Line("if (", text, " != 0) return 1;");
      w_.SetCanFail();
    } else {
      w_.code().Line(text, ";");
    }
    return absl::OkStatus();
  }

  absl::Status EmitEntry() {
    const v1::CCall& call = kernel_.call();
    const std::string type = w_.Use("entry");
    std::vector<std::string> pointers;
    std::string values = "0";
    for (const v1::CArgument& argument : call.arguments()) {
      if (argument.has_output()) continue;
      EK_ASSIGN_OR_RETURN(std::string text, Text(argument));
      if (argument.has_array()) {
        values = std::move(text);
      } else {
        pointers.push_back(std::move(text));
      }
    }
    if (pointers.size() > kEntryPointers) {
      return NoValue("an entry has more than five pointers");
    }
    pointers.resize(kEntryPointers, "0");
    absl::string_view function = call.function();
    absl::ConsumePrefix(&function, "$");
    const int64_t entry =
        w_.AddEntry(w_.Use(function),
                    absl::StrCat("{", absl::StrJoin(pointers, ", "), "}, ",
                                 w_.AddressOfOut(0), ", ", values));
    w_.code().Line("const struct ", type,
                   " *const e = ", w_.Use("hidden_entry"), "(", w_.TableName(),
                   " + ", entry, ");");
    w_.code().Line("e->kernel(e);");
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Text(const v1::CArgument& argument) {
    EK_ASSIGN_OR_RETURN(std::string text, Uncast(argument));
    if (argument.cast().empty()) return text;
    return absl::StrCat("(", argument.cast(), ")(", text, ")");
  }

  absl::StatusOr<std::string> Uncast(const v1::CArgument& argument) {
    switch (argument.value_case()) {
      case v1::CArgument::kInput:
        return Input(argument.input());
      case v1::CArgument::kOutput:
        if (static_cast<size_t>(argument.output()) >= w_.outputs()) {
          return NoValue("the op does not have that output");
        }
        return w_.Y(static_cast<size_t>(argument.output()));
      case v1::CArgument::kValueExpr: {
        EK_ASSIGN_OR_RETURN(const int64_t value, Value(argument.value_expr()));
        return CInteger(value);
      }
      case v1::CArgument::kArray:
        return Array(argument.array());
      case v1::CArgument::kPerChannel:
        return PerChannel(argument.per_channel());
      case v1::CArgument::kFields:
        return Struct(argument.fields());
      case v1::CArgument::kFloats:
        return Floats(argument.floats());
      case v1::CArgument::kScratch:
        return scratch_;
      case v1::CArgument::VALUE_NOT_SET:
        break;
    }
    return NoValue("an argument has no value");
  }

  absl::StatusOr<std::string> Input(const v1::CArgument::Input& input) {
    const auto i = static_cast<size_t>(input.index());
    if (!w_.Has(i)) {
      if (!input.zeros_if_absent()) return std::string("0");
      if (facts_.factors.empty()) {
        return NoValue("the number of output channels is unknown");
      }
      return w_.Array(v1::INT32, std::vector<int32_t>(facts_.factors.size()));
    }
    if (i == 1 && kernel_.weight_order() != v1::AS_IN_GRAPH) {
      return w_.Array(w_.In(1).type,
                      WeightsInOrder(w_, kernel_.weight_order()));
    }
    if (i == 1 && kernel_.has_weight_layout()) {
      EK_ASSIGN_OR_RETURN(const auto order,
                          library_.OrderOf(kernel_.weight_layout(),
                                           w_.In(1).num_elements(), facts_));
      return w_.Array(w_.In(1).type, WeightsInOrder(w_, *order));
    }
    return kernel_.call().table_entry() ? w_.AddressOfIn(i) : w_.X(i);
  }

  template <typename T>
  static std::vector<T> As(const std::vector<int64_t>& values) {
    std::vector<T> result;
    for (const int64_t value : values) result.push_back(static_cast<T>(value));
    return result;
  }

  absl::StatusOr<std::string> ArrayOf(v1::ElementType type,
                                      const std::vector<int64_t>& values) {
    switch (ElementBytes(type)) {
      case 1:
        return w_.Array(type, As<int8_t>(values));
      case 2:
        return w_.Array(type, As<int16_t>(values));
      case 4:
        if (!IsFloat(type)) return w_.Array(type, As<int32_t>(values));
        break;
      default:
        break;
    }
    return NoValue("arrays are of integers of up to 32 bits");
  }

  absl::StatusOr<std::string> Array(const v1::CArgument::Array& array) {
    std::vector<int64_t> values;
    for (const std::string& expression : array.value_exprs()) {
      EK_ASSIGN_OR_RETURN(const int64_t value, Value(expression));
      values.push_back(value);
    }
    return ArrayOf(array.type(), values);
  }

  absl::StatusOr<std::string> PerChannel(
      const v1::CArgument::PerChannel& channel) {
    std::vector<int64_t> values;
    const int64_t multiplier = facts_[V::kMultiplier];
    const int64_t n = facts_[V::kN];
    std::vector<int64_t> sums;
    std::vector<int64_t> biases;
    if (library_.Reads(channel.value_expr(), V::kWeightSum)) {
      sums = WeightSums(w_);
    }
    if (library_.Reads(channel.value_expr(), V::kBias)) biases = Biases(w_);
    for (size_t i = 0; i < facts_.factors.size(); ++i) {
      const ops::FixedPointMultiplier& factor = facts_.factors[i];
      facts_[V::kMultiplier] = factor.multiplier;
      facts_[V::kN] = 31 - factor.shift;
      facts_[V::kWeightSum] = i < sums.size() ? sums[i] : 0;
      facts_[V::kBias] = i < biases.size() ? biases[i] : 0;
      EK_ASSIGN_OR_RETURN(const int64_t value, Value(channel.value_expr()));
      values.push_back(value);
    }
    facts_[V::kMultiplier] = multiplier;
    facts_[V::kN] = n;
    facts_[V::kWeightSum] = 0;
    facts_[V::kBias] = 0;
    return ArrayOf(channel.type(), values);
  }

  absl::StatusOr<std::string> Struct(const v1::CArgument::Struct& fields) {
    std::vector<std::string> members;
    for (const v1::CArgument& member : fields.members()) {
      EK_ASSIGN_OR_RETURN(const std::string text, Text(member));
      members.push_back(absl::StrCat(".", member.name(), " = ", text));
    }
    const std::string text =
        absl::StrCat("{", absl::StrJoin(members, ", "), "}");
    if (fields.type().empty()) return text;
    return absl::StrCat(fields.by_address() ? "&" : "", "(", fields.type(), ")",
                        text);
  }

  absl::StatusOr<std::string> Floats(v1::CArgument::Floats floats) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    std::vector<float> values;
    switch (floats) {
      case v1::CArgument::CLAMP_LIMITS: {
        const v1::Clamp* clamp = ClampOf(w_.op());
        const bool has_min = clamp != nullptr && clamp->has_min();
        const bool has_max = clamp != nullptr && clamp->has_max();
        values = {has_min ? clamp->min() : -kInfinity,
                  has_max ? clamp->max() : kInfinity};
        break;
      }
      case v1::CArgument::EXP_TABLE: {
        if (!w_.op().has_softmax() || !w_.In(0).quantization.has_value()) {
          return NoValue("only a quantized softmax has a table of powers");
        }
        const ops::ExpTable table(w_.op().softmax().beta(),
                                  w_.InQuantization(0).scale[0]);
        for (int d = 0; d < 256; ++d) values.push_back(table[d]);
        break;
      }
      case v1::CArgument::OUTPUT_SCALE:
        if (!w_.Out(0).quantization.has_value()) {
          return NoValue("the output has no scale");
        }
        values = {w_.OutQuantization(0).scale[0]};
        break;
      default:
        return NoValue("an array of floats without a name");
    }
    return w_.Array(v1::FLOAT32, values);
  }

  StepWriter& w_;
  const KernelLibrary& library_;
  const v1::CKernel& kernel_;
  KernelFacts& facts_;
  std::string scratch_ = "0";
};

}  // namespace

absl::Status EmitCall(StepWriter& w, const KernelLibrary& library,
                      const v1::CKernel& kernel, KernelFacts& facts) {
  return CallWriter(w, library, kernel, facts).Emit();
}

}  // namespace edgekiln::compiler
