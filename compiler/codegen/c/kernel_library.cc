#include "compiler/codegen/c/kernel_library.h"

#include <algorithm>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "compiler/codegen/c/builtin_kernels.h"
#include "compiler/codegen/c/helpers.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "target/expression.h"
#include "target/host_cost.h"

namespace edgekiln::compiler {
namespace {

constexpr int kMaxNesting = 20;
constexpr int kMaxArguments = 64;      // Of a call, and of a struct.
constexpr int kMaxElements = 1 << 10;  // Of an array that a row lists.
constexpr int64_t kNoValue = int64_t{1} << 50;

absl::Status Invalid(std::string what, std::string fix = "") {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "KERNELS_INVALID",
                    .what = std::move(what),
                    .fix = std::move(fix)});
}

class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (!text_.empty()) return;
    text_ =
        absl::StrCat("line ", line + 1, ", column ", column + 1, ": ", message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

bool IsNameByte(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// A C identifier, or several words as "const int8_t *" with `type`.
bool IsName(absl::string_view text, bool type = false) {
  return !text.empty() && text.size() <= 128 &&
         !absl::ascii_isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), [type](char c) {
           return IsNameByte(c) || (type && (c == ' ' || c == '*'));
         });
}

bool IsHeader(absl::string_view text) {
  return !text.empty() && text.size() <= 128 &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return IsNameByte(c) || c == '.' || c == '-' || c == '/';
         });
}

template <typename List>
bool Holds(const List& list, int value) {
  return list.empty() ||
         std::find(list.begin(), list.end(), value) != list.end();
}

int64_t Percent(int64_t value, int32_t percent) {
  return percent == 0 ? value
                      : value / 100 * percent + value % 100 * percent / 100;
}

}  // namespace

// Compiling all of the built-in ones takes longer than most networks take.
class KernelLibrary::Expressions {
 public:
  absl::StatusOr<const target::Expression*> Find(const std::string& text) {
    const MutexLock lock(mutex_);
    std::unique_ptr<const target::Expression>& found = compiled_[text];
    if (found == nullptr) {
      EK_ASSIGN_OR_RETURN(
          target::Expression compiled,
          target::Expression::Compile(text, {}, KernelVariableNames()),
          absl::StrCat("expression \"", text, "\""));
      found = std::make_unique<const target::Expression>(std::move(compiled));
    }
    return found.get();
  }

 private:
  Mutex mutex_;
  absl::flat_hash_map<std::string, std::unique_ptr<const target::Expression>>
      compiled_ ABSL_GUARDED_BY(mutex_);
};

absl::Status KernelLibrary::CheckExpression(
    const std::string& expression) const {
  return expressions_->Find(expression).status();
}

absl::Status KernelLibrary::CheckArgument(const v1::CArgument& argument,
                                          int depth) const {
  if (depth > 4) return Invalid("structs are nested more than four deep");
  if (!argument.name().empty() && !IsName(argument.name())) {
    return Invalid("the name of a member is not an identifier");
  }
  if (!argument.cast().empty() && !IsName(argument.cast(), true)) {
    return Invalid("a cast is not a C type");
  }
  switch (argument.value_case()) {
    case v1::CArgument::kValueExpr:
      return CheckExpression(argument.value_expr());
    case v1::CArgument::kArray:
      if (argument.array().value_exprs_size() > kMaxElements) {
        return Invalid("an array has too many elements");
      }
      for (const std::string& value : argument.array().value_exprs()) {
        EK_RETURN_IF_ERROR(CheckExpression(value));
      }
      return absl::OkStatus();
    case v1::CArgument::kPerChannel:
      return CheckExpression(argument.per_channel().value_expr());
    case v1::CArgument::kFields: {
      const v1::CArgument::Struct& fields = argument.fields();
      if (fields.members_size() > kMaxArguments) {
        return Invalid("a struct has too many members");
      }
      if (!fields.type().empty() && !IsName(fields.type(), true)) {
        return Invalid("the type of a struct is not a C type");
      }
      for (const v1::CArgument& member : fields.members()) {
        if (member.name().empty()) return Invalid("a member has no name");
        EK_RETURN_IF_ERROR(CheckArgument(member, depth + 1));
      }
      return absl::OkStatus();
    }
    case v1::CArgument::kInput:
      return argument.input().index() >= 0
                 ? absl::OkStatus()
                 : Invalid("the index of an input is negative");
    case v1::CArgument::kOutput:
      return argument.output() >= 0
                 ? absl::OkStatus()
                 : Invalid("the index of an output is negative");
    case v1::CArgument::kFloats:
    case v1::CArgument::kScratch:
      return absl::OkStatus();
    case v1::CArgument::VALUE_NOT_SET:
      break;
  }
  return Invalid("an argument has no value");
}

absl::Status KernelLibrary::CheckCall(const v1::CCall& call) const {
  const absl::string_view function = call.function();
  if (!function.empty() && function[0] == '$') {
    if (!IsHelper(function.substr(1))) {
      return Invalid(absl::StrCat("no built-in text is called ", function));
    }
  } else if (!IsName(function)) {
    return Invalid("the function is not an identifier");
  } else if (!IsHeader(call.header())) {
    return Invalid("a function that is not built in needs a header");
  }
  if (call.arguments_size() > kMaxArguments) {
    return Invalid("a call has too many arguments");
  }
  for (const v1::CArgument& argument : call.arguments()) {
    EK_RETURN_IF_ERROR(CheckArgument(argument, 0));
  }
  return absl::OkStatus();
}

absl::Status KernelLibrary::Check(const v1::CKernel& kernel) const {
  if (!IsName(kernel.name())) return Invalid("its name is not an identifier");
  for (const std::string& op : kernel.ops()) {
    if (v1::OpAttributes::descriptor()->FindFieldByName(op) == nullptr) {
      return Invalid(absl::StrCat("no op is called ", op));
    }
  }
  for (const std::string& condition : kernel.where()) {
    EK_RETURN_IF_ERROR(CheckExpression(condition));
  }
  if (!kernel.scratch_bytes_expr().empty()) {
    EK_RETURN_IF_ERROR(CheckExpression(kernel.scratch_bytes_expr()));
  }
  EK_RETURN_IF_ERROR(CheckExpression(kernel.cost().instructions_expr()));
  EK_RETURN_IF_ERROR(CheckExpression(kernel.cost().code_bytes_expr()));
  if (kernel.has_call()) return CheckCall(kernel.call());
  if (!IsGenerator(kernel.generator())) {
    return Invalid(absl::StrCat("no generator is called ", kernel.generator()));
  }
  return absl::OkStatus();
}

KernelLibrary::KernelLibrary(v1::KernelLibrary data)
    : expressions_(std::make_shared<Expressions>()) {
  kernels_.reserve(static_cast<size_t>(data.kernels_size()));
  for (v1::CKernel& kernel : *data.mutable_kernels()) {
    kernels_.push_back(std::move(kernel));
  }
}

absl::StatusOr<KernelLibrary> KernelLibrary::Parse(absl::string_view text) {
  if (std::ssize(text) > kMaxBytes) {
    return Invalid(absl::StrCat("the kernels are a text of ", text.size(),
                                " bytes; at most ", kMaxBytes, " are taken"));
  }
  v1::KernelLibrary data;
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kMaxNesting);
  if (!parser.ParseFromString(std::string(text), &data)) {
    return Invalid(error.text(),
                   "proto/edgekiln/v1/kernel_library.proto has the schema");
  }
  if (data.kernels_size() > kMaxKernels) {
    return Invalid(absl::StrCat(data.kernels_size(), " kernels; at most ",
                                kMaxKernels, " are taken"));
  }
  if (!data.MergeFromString(std::string(BuiltinKernels()))) {
    return absl::InternalError("the built-in kernels do not parse");
  }
  KernelLibrary library(std::move(data));
  for (size_t i = 0; i < library.kernels_.size(); ++i) {
    const v1::CKernel& kernel = library.kernels_[i];
    EK_RETURN_IF_ERROR(library.Check(kernel),
                       absl::StrCat("kernel ", i, " (", kernel.name(), ")"));
  }
  return library;
}

const KernelLibrary& KernelLibrary::Builtin() {
  // A test checks them: an error is our mistake.
  static const auto& library = *[] {
    v1::KernelLibrary data;
    data.ParseFromArray(BuiltinKernels().data(),
                        static_cast<int>(BuiltinKernels().size()));
    return new KernelLibrary(std::move(data));
  }();
  return library;
}

bool KernelLibrary::Fits(const v1::CKernel& kernel, const StepWriter& w,
                         const KernelFacts& facts) const {
  if (!kernel.ops().empty() &&
      std::find(kernel.ops().begin(), kernel.ops().end(),
                target::OpAttributesName(w.op())) == kernel.ops().end()) {
    return false;
  }
  const auto type = [&w](size_t i) {
    return w.Has(i) ? w.In(i).type : v1::ELEMENT_TYPE_UNSPECIFIED;
  };
  if (!Holds(kernel.in(), type(0)) || !Holds(kernel.in2(), type(1)) ||
      !Holds(kernel.out(), w.Out(0).type)) {
    return false;
  }
  return std::all_of(kernel.where().begin(), kernel.where().end(),
                     [&](const std::string& condition) {
                       return Evaluate(condition, facts).value_or(0) != 0;
                     });
}

KernelCost KernelLibrary::CostOf(const v1::CKernel& kernel,
                                 v1::Processor processor,
                                 const KernelFacts& facts) const {
  const v1::CKernelCost& cost = kernel.cost();
  const auto value = [&](const std::string& expression) {
    return std::clamp<int64_t>(Evaluate(expression, facts).value_or(kNoValue),
                               0, kNoValue);
  };
  KernelCost result = {value(cost.instructions_expr()),
                       value(cost.code_bytes_expr())};
  for (const v1::CKernelCost::Scale& scale : cost.scales()) {
    if (!Holds(scale.processors(), processor)) continue;
    result.instructions =
        Percent(result.instructions, scale.instructions_percent());
    result.code_bytes = Percent(result.code_bytes, scale.code_percent());
    break;
  }
  return result;
}

absl::StatusOr<int64_t> KernelLibrary::Evaluate(
    const std::string& expression, const KernelFacts& facts) const {
  EK_ASSIGN_OR_RETURN(const target::Expression* const compiled,
                      expressions_->Find(expression));
  return compiled->Evaluate(facts.values);
}

}  // namespace edgekiln::compiler
