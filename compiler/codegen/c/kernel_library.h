#ifndef EK_COMPILER_CODEGEN_C_KERNEL_LIBRARY_H_
#define EK_COMPILER_CODEGEN_C_KERNEL_LIBRARY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/codegen/c/kernel_variables.h"
#include "compiler/codegen/c/step_writer.h"
#include "edgekiln/v1/kernel_library.pb.h"
#include "target/expression.h"

// The kernels that layers can have, as data (docs/c_code.md).
namespace edgekiln::compiler {

// What a step takes with a kernel.
struct KernelCost {
  int64_t instructions = 0;  // Of one inference.
  int64_t code_bytes = 0;    // Of the layer's function.
};

// Checked once, used often. Immutable, hence thread-safe.
class KernelLibrary {
 public:
  static constexpr int64_t kMaxBytes = 1 << 20;
  static constexpr int kMaxKernels = 1000;

  // `text` is a v1::KernelLibrary in protobuf's text form. INVALID_ARGUMENT
  // with reason KERNELS_INVALID names the kernel and what is wrong with it.
  static absl::StatusOr<KernelLibrary> Parse(absl::string_view text);
  // kernels.txtpb.
  static const KernelLibrary& Builtin();

  // In their order.
  absl::Span<const v1::CKernel> kernels() const { return kernels_; }
  // Whether ops, types and conditions of the kernel are the step's.
  bool Fits(const v1::CKernel& kernel, const StepWriter& w,
            const KernelFacts& facts) const;
  // On a processor; all of 2^50 where an expression has no value.
  KernelCost CostOf(const v1::CKernel& kernel, v1::Processor processor,
                    const KernelFacts& facts) const;
  // The value of one of its expressions.
  absl::StatusOr<int64_t> Evaluate(const std::string& expression,
                                   const KernelFacts& facts) const;

 private:
  absl::Status Add(const v1::CKernel& kernel);
  absl::Status AddExpression(const std::string& expression);
  absl::Status AddCall(const v1::CCall& call);
  absl::Status AddArgument(const v1::CArgument& argument, int depth);

  std::vector<v1::CKernel> kernels_;
  absl::flat_hash_map<std::string, target::Expression> expressions_;
};

// Whether a kernel writes its own C, which is called that in kernels.cc.
bool IsGenerator(absl::string_view name);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_KERNEL_LIBRARY_H_
