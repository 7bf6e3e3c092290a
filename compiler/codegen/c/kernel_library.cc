#include "compiler/codegen/c/kernel_library.h"

#include <algorithm>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/error.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "compiler/codegen/c/builtin_kernels.h"
#include "compiler/codegen/c/helpers.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "target/expression.h"
#include "target/host_cost.h"
#include "target/kernel_rows.h"

namespace edgekiln::compiler {
namespace {

constexpr int kMaxNesting = 20;
constexpr int64_t kNoValue = int64_t{1} << 40;
// Of weights in an order of their own: with padding of each channel.
constexpr int64_t kMaxPadding = 4;
constexpr int64_t kMaxWeights = int64_t{12} << 20;

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

template <typename List>
bool Holds(const List& list, int value) {
  return list.empty() ||
         std::find(list.begin(), list.end(), value) != list.end();
}

int64_t Percent(int64_t value, int32_t percent) {
  return percent == 0 ? value
                      : value / 100 * percent + value % 100 * percent / 100;
}

// Of a row in general; whether its text is there, as well.
absl::Status Check(const v1::CKernel& kernel, const std::string& where) {
  EK_RETURN_IF_ERROR(target::CheckKernelRow(kernel, where));
  if (!kernel.has_call()) {
    if (IsGenerator(kernel.generator())) return absl::OkStatus();
    return Invalid(
        absl::StrCat(where, ": no generator is called ", kernel.generator()));
  }
  absl::string_view function = kernel.call().function();
  if (absl::ConsumePrefix(&function, "$") && !IsHelper(function)) {
    return Invalid(
        absl::StrCat(where, ": no built-in text is called ", function));
  }
  return absl::OkStatus();
}

bool HasArraysByChannel(const v1::CArgument& argument) {
  if (argument.has_per_channel()) return true;
  return argument.has_fields() &&
         std::any_of(argument.fields().members().begin(),
                     argument.fields().members().end(), HasArraysByChannel);
}

bool HasConstantBytes(const StepWriter& w) {
  return (w.op().has_conv2d() || w.op().has_depthwise_conv2d() ||
          w.op().has_fully_connected()) &&
         w.Has(1) && w.In(1).is_constant() && ElementBytes(w.In(1).type) == 1 &&
         w.In(1).num_elements() > 0;
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

  using Order = std::shared_ptr<const std::vector<int32_t>>;

  // Null if none was kept by that name.
  Order FindOrder(const std::string& name) {
    const MutexLock lock(mutex_);
    const auto found = orders_.find(name);
    return found == orders_.end() ? nullptr : found->second;
  }
  void KeepOrder(const std::string& name, const Order& order) {
    const MutexLock lock(mutex_);
    kept_elements_ += std::ssize(*order);
    if (kept_elements_ <= kMaxWeights) orders_[name] = order;
  }

 private:
  Mutex mutex_;
  absl::flat_hash_map<std::string, std::unique_ptr<const target::Expression>>
      compiled_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Order> orders_ ABSL_GUARDED_BY(mutex_);
  int64_t kept_elements_ ABSL_GUARDED_BY(mutex_) = 0;
};

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
    EK_RETURN_IF_ERROR(
        Check(kernel, absl::StrCat("kernel ", i, " (", kernel.name(), ")")));
  }
  return library;
}

absl::StatusOr<KernelLibrary> KernelLibrary::WithOwn(
    const google::protobuf::RepeatedPtrField<v1::CKernel>& rows) {
  v1::KernelLibrary data;
  *data.mutable_kernels() = rows;
  for (const v1::CKernel& built_in : Builtin().kernels()) {
    *data.add_kernels() = built_in;
  }
  for (int i = 0; i < rows.size(); ++i) {
    const std::string& name = rows[i].name();
    const bool is_taken =
        name == kAliasKernel ||
        std::any_of(Builtin().kernels().begin(), Builtin().kernels().end(),
                    [&](const v1::CKernel& built_in) {
                      return built_in.name() == name;
                    });
    if (!is_taken) continue;
    return MakeError(
        absl::StatusCode::kInvalidArgument,
        {.reason = "KERNELS_INVALID",
         .what = "a built-in kernel has that name",
         .where = absl::StrCat("c_kernels[", i, "] \"", name, "\": name"),
         .fix = absl::StrCat("call it otherwise: \"my_", name, "\"")});
  }
  return KernelLibrary(std::move(data));
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
  const bool orders =
      kernel.weight_order() != v1::AS_IN_GRAPH || kernel.has_weight_layout();
  if (orders && !HasConstantBytes(w)) return false;
  if (facts.factors.empty() && kernel.has_call() &&
      std::any_of(kernel.call().arguments().begin(),
                  kernel.call().arguments().end(), HasArraysByChannel)) {
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

bool KernelLibrary::Reads(const std::string& expression,
                          KernelVariable variable) const {
  const auto compiled = expressions_->Find(expression);
  if (!compiled.ok()) return false;
  const std::vector<int32_t> used = (*compiled)->UsedVariables();
  return std::find(used.begin(), used.end(), SlotOf(variable)) != used.end();
}

absl::StatusOr<std::shared_ptr<const std::vector<int32_t>>>
KernelLibrary::OrderOf(const v1::CWeightLayout& layout, int64_t weights,
                       const KernelFacts& facts) const {
  std::string name =
      absl::StrCat(layout.elements_expr(), "\n", layout.source_expr(), "\n");
  name.append(reinterpret_cast<const char*>(facts.values.data()),
              facts.values.size() * sizeof(facts.values[0]));
  if (auto kept = expressions_->FindOrder(name)) return kept;
  EK_ASSIGN_OR_RETURN(const int64_t elements,
                      Evaluate(layout.elements_expr(), facts));
  const int64_t most = std::min(
      kMaxPadding * (std::min(weights, kMaxWeights) + 1024), kMaxWeights);
  if (elements < 1 || elements > most) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     {.reason = "KERNELS_INVALID",
                      .what = absl::StrCat("elements_expr must be 1 to ", most),
                      .where = "weight_layout: elements_expr",
                      .limit = absl::StrCat("1 to ", most),
                      .need = absl::StrCat(elements),
                      .fix = "correct the expression"});
  }
  EK_ASSIGN_OR_RETURN(const target::Expression* const source,
                      expressions_->Find(layout.source_expr()));
  KernelFacts of_element = facts;
  auto order = std::make_shared<std::vector<int32_t>>();
  order->reserve(static_cast<size_t>(elements));
  for (int64_t i = 0; i < elements; ++i) {
    of_element[KernelVariable::kElement] = i;
    EK_ASSIGN_OR_RETURN(const int64_t index,
                        source->Evaluate(of_element.values));
    if (index < -1 || index >= weights) {
      return MakeError(
          absl::StatusCode::kInvalidArgument,
          {.reason = "KERNELS_INVALID",
           .what = absl::StrCat("source_expr gives ", index, " for element ", i,
                                ", but there are ", weights, " weights"),
           .where = "weight_layout: source_expr",
           .limit = absl::StrCat("-1 to ", weights - 1),
           .fix = "correct the expression"});
    }
    order->push_back(static_cast<int32_t>(index));
  }
  expressions_->KeepOrder(name, order);
  return order;
}

}  // namespace edgekiln::compiler
