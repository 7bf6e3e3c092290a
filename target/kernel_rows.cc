#include "target/kernel_rows.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "base/source_path.h"
#include "base/status_macros.h"
#include "edgekiln/v1/graph.pb.h"
#include "target/expression.h"
#include "target/kernel_variables.h"
#include "target/nearest_name.h"

namespace edgekiln::target {
namespace {

constexpr int kMaxConditions = 32;
constexpr int kMaxArguments = 64;      // Of a call, and of a struct.
constexpr int kMaxElements = 1 << 10;  // Of an array that a row lists.
constexpr int kMaxStructDepth = 4;
constexpr int kMaxTensor = 15;  // Index of an input or output.
constexpr size_t kMaxNameBytes = 128;

bool IsNameByte(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

bool IsKeyword(absl::string_view word) {
  static constexpr absl::string_view kWords[] = {
      "asm",      "auto",     "break",    "case",     "char",   "const",
      "continue", "default",  "do",       "double",   "else",   "enum",
      "extern",   "float",    "for",      "goto",     "if",     "inline",
      "int",      "long",     "register", "restrict", "return", "short",
      "signed",   "sizeof",   "static",   "struct",   "switch", "typedef",
      "union",    "unsigned", "void",     "volatile", "while"};
  return std::binary_search(std::begin(kWords), std::end(kWords), word);
}

bool IsIdentifier(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes &&
         !absl::ascii_isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), IsNameByte) && !IsKeyword(text);
}

// Words as "const int8_t *".
bool IsType(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes &&
         !absl::ascii_isdigit(static_cast<unsigned char>(text[0])) &&
         text[0] != '*' && std::all_of(text.begin(), text.end(), [](char c) {
           return IsNameByte(c) || c == ' ' || c == '*';
         });
}

absl::Status NotAnIdentifier(absl::string_view text, std::string where) {
  return InvalidKernel(absl::StrCat("\"", text, "\" is not a C identifier"),
                       std::move(where),
                       "use letters, digits and \"_\", and no keyword of C");
}

// The name that Expression::Compile() did not know.
std::optional<std::string> UnknownName(absl::string_view what) {
  const std::vector<absl::string_view> parts = absl::StrSplit(what, '"');
  if (parts.size() < 3 || parts[0] != "unknown name ") return std::nullopt;
  return std::string(parts[1]);
}

absl::Status CheckExpression(const std::string& text,
                             const std::string& where) {
  const auto compiled = Expression::Compile(text, {}, KernelVariableNames());
  if (compiled.ok()) return absl::OkStatus();
  ErrorDetail detail =
      GetErrorDetail(compiled.status()).value_or(ErrorDetail{});
  detail.reason = "TARGET_INVALID";
  const absl::Span<const std::string> names = KernelVariableNames();
  constexpr char kVariables[] =
      "docs/c_kernels.md has the variables of expressions";
  const auto unknown = UnknownName(detail.what);
  detail.fix =
      unknown ? DidYouMean(*unknown, {names.begin(), names.end()}, kVariables)
              : "correct the expression";
  detail.where =
      absl::StrCat(where, detail.where.empty() ? "" : ", ", detail.where);
  return MakeError(absl::StatusCode::kInvalidArgument, std::move(detail));
}

// Checks the fields of one row.
class RowChecker {
 public:
  RowChecker(const v1::CKernel& row, const std::string& where)
      : row_(row), where_(where) {}

  absl::Status Check() const {
    if (!IsIdentifier(row_.name())) {
      return NotAnIdentifier(row_.name(), At("name"));
    }
    EK_RETURN_IF_ERROR(CheckOps());
    if (row_.where_size() > kMaxConditions) {
      return TooManyInKernel(row_.where_size(), kMaxConditions, At("where"));
    }
    for (int i = 0; i < row_.where_size(); ++i) {
      EK_RETURN_IF_ERROR(
          CheckExpression(row_.where(i), At(absl::StrCat("where[", i, "]"))));
    }
    for (const int32_t input : row_.overwrites()) {
      if (input < 0 || input > kMaxTensor) return BadIndex(At("overwrites"));
    }
    if (!row_.scratch_bytes_expr().empty()) {
      EK_RETURN_IF_ERROR(
          CheckExpression(row_.scratch_bytes_expr(), At("scratch_bytes_expr")));
    }
    EK_RETURN_IF_ERROR(CheckExpression(row_.cost().instructions_expr(),
                                       At("cost: instructions_expr")));
    EK_RETURN_IF_ERROR(CheckExpression(row_.cost().code_bytes_expr(),
                                       At("cost: code_bytes_expr")));
    if (row_.has_weight_layout()) EK_RETURN_IF_ERROR(CheckWeightLayout());
    return row_.has_call() ? CheckCall() : absl::OkStatus();
  }

 private:
  std::string At(absl::string_view field) const {
    return absl::StrCat(where_, ": ", field);
  }

  static absl::Status BadIndex(std::string where) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     {.reason = "TARGET_INVALID",
                      .what = "not the index of a tensor",
                      .where = std::move(where),
                      .limit = absl::StrCat("0 to ", kMaxTensor),
                      .fix = "correct the index"});
  }

  absl::Status CheckOps() const {
    const auto* const attributes = v1::OpAttributes::descriptor();
    for (const std::string& op : row_.ops()) {
      if (attributes->FindFieldByName(op) != nullptr) continue;
      std::vector<std::string> names;
      for (int i = 0; i < attributes->field_count(); ++i) {
        names.push_back(attributes->field(i)->name());
      }
      return InvalidKernel(
          absl::StrCat("no op is called \"", op, "\""), At("ops"),
          DidYouMean(op, names, "docs/numerics.md has all ops"));
    }
    return absl::OkStatus();
  }

  absl::Status CheckWeightLayout() const {
    const std::string elements = At("weight_layout: elements_expr");
    const std::string source = At("weight_layout: source_expr");
    EK_RETURN_IF_ERROR(
        CheckExpression(row_.weight_layout().elements_expr(), elements));
    EK_RETURN_IF_ERROR(
        CheckExpression(row_.weight_layout().source_expr(), source));
    if (row_.weight_order() == v1::AS_IN_GRAPH) return absl::OkStatus();
    return InvalidKernel("the row has a weight_order as well",
                         At("weight_layout"), "leave one of them out");
  }

  absl::Status CheckCall() const {
    const v1::CCall& call = row_.call();
    absl::string_view function = call.function();
    const bool built_in = absl::StartsWith(function, "$");
    if (built_in) function.remove_prefix(1);
    if (!IsIdentifier(function)) {
      return NotAnIdentifier(call.function(), At("call: function"));
    }
    if (!built_in && (!IsKernelPath(call.header()) ||
                      !absl::EndsWith(call.header(), ".h"))) {
      return InvalidKernel(
          "the function needs a header that declares it", At("call: header"),
          absl::StrCat("a file name that ends in .h; ", kKernelPathFix));
    }
    if (call.arguments_size() > kMaxArguments) {
      return TooManyInKernel(call.arguments_size(), kMaxArguments,
                             At("call: arguments"));
    }
    for (int i = 0; i < call.arguments_size(); ++i) {
      EK_RETURN_IF_ERROR(CheckArgument(
          call.arguments(i), 0, At(absl::StrCat("call: arguments[", i, "]"))));
    }
    return absl::OkStatus();
  }

  static absl::Status CheckArray(v1::ElementType type,
                                 const std::string& where) {
    switch (type) {
      case v1::INT8:
      case v1::UINT8:
      case v1::INT16:
      case v1::UINT16:
      case v1::INT32:
        return absl::OkStatus();
      default:
        return InvalidKernel("arrays are of integers of up to 32 bits",
                             absl::StrCat(where, ": type"),
                             "INT8, UINT8, INT16, UINT16, INT32");
    }
  }

  absl::Status CheckArgument(const v1::CArgument& argument, int depth,
                             const std::string& where) const {
    if (!argument.name().empty() && !IsIdentifier(argument.name())) {
      return NotAnIdentifier(argument.name(), absl::StrCat(where, ": name"));
    }
    if (!argument.cast().empty() && !IsType(argument.cast())) {
      return InvalidKernel("the cast is not a C type",
                           absl::StrCat(where, ": cast"),
                           "words and \"*\", as in \"const int8_t *\"");
    }
    const auto in_range = [](int32_t i) { return i >= 0 && i <= kMaxTensor; };
    switch (argument.value_case()) {
      case v1::CArgument::kInput:
        return in_range(argument.input().index())
                   ? absl::OkStatus()
                   : BadIndex(absl::StrCat(where, ": input: index"));
      case v1::CArgument::kOutput:
        return in_range(argument.output())
                   ? absl::OkStatus()
                   : BadIndex(absl::StrCat(where, ": output"));
      case v1::CArgument::kValueExpr:
        return CheckExpression(argument.value_expr(),
                               absl::StrCat(where, ": value_expr"));
      case v1::CArgument::kArray: {
        const v1::CArgument::Array& array = argument.array();
        const std::string at = absl::StrCat(where, ": array");
        EK_RETURN_IF_ERROR(CheckArray(array.type(), at));
        if (array.value_exprs_size() == 0) {
          return InvalidKernel("the array has no elements", at,
                               "add value_exprs");
        }
        if (array.value_exprs_size() > kMaxElements) {
          return TooManyInKernel(array.value_exprs_size(), kMaxElements, at);
        }
        for (int i = 0; i < array.value_exprs_size(); ++i) {
          EK_RETURN_IF_ERROR(
              CheckExpression(array.value_exprs(i),
                              absl::StrCat(at, ": value_exprs[", i, "]")));
        }
        return absl::OkStatus();
      }
      case v1::CArgument::kPerChannel: {
        const std::string at = absl::StrCat(where, ": per_channel");
        EK_RETURN_IF_ERROR(CheckArray(argument.per_channel().type(), at));
        return CheckExpression(argument.per_channel().value_expr(),
                               absl::StrCat(at, ": value_expr"));
      }
      case v1::CArgument::kFields:
        return CheckStruct(argument.fields(), depth,
                           absl::StrCat(where, ": fields"));
      case v1::CArgument::kFloats:
        if (v1::CArgument::Floats_IsValid(argument.floats()) &&
            argument.floats() != v1::CArgument::FLOATS_UNSPECIFIED) {
          return absl::OkStatus();
        }
        return InvalidKernel("no such array of floats",
                             absl::StrCat(where, ": floats"),
                             "CLAMP_LIMITS, EXP_TABLE, OUTPUT_SCALE");
      case v1::CArgument::kScratch:
        return absl::OkStatus();
      case v1::CArgument::VALUE_NOT_SET:
        break;
    }
    return InvalidKernel(
        "the argument has no value", where,
        "one of input, output, value_expr, array, per_channel, "
        "fields, floats, scratch");
  }

  absl::Status CheckStruct(const v1::CArgument::Struct& fields, int depth,
                           const std::string& where) const {
    if (depth >= kMaxStructDepth) {
      return InvalidKernel("structs are nested too deeply", where,
                           absl::StrCat("at most ", kMaxStructDepth, " deep"));
    }
    if (fields.members_size() > kMaxArguments) {
      return TooManyInKernel(fields.members_size(), kMaxArguments, where);
    }
    if (fields.type().empty() ? depth == 0 : !IsType(fields.type())) {
      return InvalidKernel("the struct needs its C type",
                           absl::StrCat(where, ": type"),
                           "words and \"*\", as in \"struct dims\"");
    }
    for (int i = 0; i < fields.members_size(); ++i) {
      const std::string at = absl::StrCat(where, ": members[", i, "]");
      if (fields.members(i).name().empty()) {
        return InvalidKernel("the member has no name", at,
                             "give the name that it has in C");
      }
      EK_RETURN_IF_ERROR(CheckArgument(fields.members(i), depth + 1, at));
    }
    return absl::OkStatus();
  }

  const v1::CKernel& row_;
  const std::string& where_;
};

}  // namespace

absl::Status InvalidKernel(std::string what, std::string where,
                           std::string fix) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "TARGET_INVALID",
                    .what = std::move(what),
                    .where = std::move(where),
                    .fix = std::move(fix)});
}

absl::Status TooManyInKernel(int count, int limit, std::string where) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "TARGET_INVALID",
                    .what = "too many entries",
                    .where = std::move(where),
                    .limit = absl::StrCat(limit),
                    .need = absl::StrCat(count),
                    .fix = "leave some out"});
}

bool IsKernelPath(absl::string_view path) {
  return path.size() <= kMaxKernelPathBytes && IsSourcePath(path);
}

absl::Status CheckKernelRow(const v1::CKernel& row, const std::string& where) {
  return RowChecker(row, where).Check();
}

}  // namespace edgekiln::target
