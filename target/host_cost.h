#ifndef EK_TARGET_HOST_COST_H_
#define EK_TARGET_HOST_COST_H_

// What host code costs, by the cost classes of a machine: an estimate.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/graph.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "target/expression.h"
#include "target/op_variables.h"

namespace edgekiln::target {

inline constexpr char kCopyCost[] = "copy";

// Immutable, hence thread-safe; copyable.
class HostCosts {
 public:
  // All costs are 0.
  HostCosts() : classes_(1) {}

  // Compiles the expressions. INVALID_ARGUMENT names the class whose expression
  // does not compile, or says that there is no class "default".
  static absl::StatusOr<HostCosts> Create(const v1::Machine& machine);

  // Cycles of one call, of the host's clock: by the class named `op` (attribute
  // name in OpAttributes), else "default". OUT_OF_RANGE, naming the class, if
  // the expression gives less than 0 or overflows.
  absl::StatusOr<int64_t> Cycles(absl::string_view op,
                                 const OpVariables& variables) const;

  // Host cycles of a copy of `bytes` by the host's own code, by the class
  // "copy", with the variables of an op that reads and writes a tensor [bytes].
  absl::StatusOr<int64_t> CopyCycles(int64_t bytes) const;

 private:
  struct Class {
    std::string op;
    Expression cycles;
  };
  std::vector<Class> classes_;
  size_t default_ = 0;  // Position.
};

// "conv2d", "softmax", ...: the field name that is set; "" if none is.
absl::string_view OpAttributesName(const v1::OpAttributes& attributes);

}  // namespace edgekiln::target

#endif  // EK_TARGET_HOST_COST_H_
