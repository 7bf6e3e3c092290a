#ifndef EK_COMPILER_CODEGEN_C_KERNEL_LIBRARY_H_
#define EK_COMPILER_CODEGEN_C_KERNEL_LIBRARY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/codegen/c/kernel_variables.h"
#include "compiler/codegen/c/step_writer.h"
#include "edgekiln/v1/kernel_library.pb.h"
#include "google/protobuf/repeated_ptr_field.h"

// The kernels that layers can have, as data (docs/c_code.md).
namespace edgekiln::compiler {

// The name, in manifests, of layers that need no code.
inline constexpr char kAliasKernel[] = "alias";

// What a step takes with a kernel.
struct KernelCost {
  int64_t instructions = 0;  // Of one inference.
  int64_t code_bytes = 0;    // Of the layer's function.
};

// Thread-safe; copies share what they know.
class KernelLibrary {
 public:
  static constexpr int64_t kMaxBytes = 1 << 20;
  static constexpr int kMaxKernels = 1000;

  // The kernels of `text`, a v1::KernelLibrary in protobuf's text form, and
  // behind them the built-in ones. INVALID_ARGUMENT with reason KERNELS_INVALID
  // names the kernel and what is wrong with it.
  static absl::StatusOr<KernelLibrary> Parse(absl::string_view text);
  // kernels.txtpb.
  static const KernelLibrary& Builtin();
  // The rows of a target (Machine.Firmware.kernels), and behind them the
  // built-in ones. INVALID_ARGUMENT where a row has the name of one of those.
  static absl::StatusOr<KernelLibrary> WithOwn(
      const google::protobuf::RepeatedPtrField<v1::CKernel>& rows);

  // In their order.
  absl::Span<const v1::CKernel> kernels() const { return kernels_; }
  // Whether ops, types and conditions of the kernel are the step's. With an
  // order of weights, these are constant bytes; with arrays by channel, the
  // step has factors.
  bool Fits(const v1::CKernel& kernel, const StepWriter& w,
            const KernelFacts& facts) const;
  // On a processor; all of 2^40 where an expression has no value.
  KernelCost CostOf(const v1::CKernel& kernel, v1::Processor processor,
                    const KernelFacts& facts) const;
  // The value of one of its expressions.
  absl::StatusOr<int64_t> Evaluate(const std::string& expression,
                                   const KernelFacts& facts) const;
  // Whether one of them reads that variable.
  bool Reads(const std::string& expression, KernelVariable variable) const;
  // For each element of the array, the index of the weight of `weights` that it
  // is, or -1 for a 0. INVALID_ARGUMENT where the layout names no weight or
  // more elements than an array of so many weights may have.
  absl::StatusOr<std::shared_ptr<const std::vector<int32_t>>> OrderOf(
      const v1::CWeightLayout& layout, int64_t weights,
      const KernelFacts& facts) const;

 private:
  // Expressions by their text, each compiled when it is first asked for, and
  // orders of weights.
  class Expressions;

  explicit KernelLibrary(v1::KernelLibrary data);
  std::vector<v1::CKernel> kernels_;
  std::shared_ptr<Expressions> expressions_;
};

// Whether a kernel writes its own C, which is called that in kernels.cc.
bool IsGenerator(absl::string_view name);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_KERNEL_LIBRARY_H_
