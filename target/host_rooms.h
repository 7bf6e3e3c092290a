#ifndef EK_TARGET_HOST_ROOMS_H_
#define EK_TARGET_HOST_ROOMS_H_

// What a recipe says that host kernels keep in system memory.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/target.pb.h"
#include "target/expression.h"
#include "target/op_variables.h"

namespace edgekiln::target {

// Immutable, hence thread-safe; copyable.
class HostRooms {
 public:
  struct Bytes {
    int64_t data = 0;  // While the op runs, beside operands and results.
    int64_t code = 0;
  };

  // Compiles the expressions; `machine` has the values of parameters.
  // INVALID_ARGUMENT names the op and the key that does not compile.
  static absl::StatusOr<HostRooms> Create(const v1::Machine& machine,
                                          const v1::TileRecipe& recipe);

  bool empty() const { return rooms_.empty(); }

  // Of one op, by its attribute name in OpAttributes; 0 for those without an
  // entry. OUT_OF_RANGE, naming the op, if an expression gives less than 0 or
  // overflows.
  absl::StatusOr<Bytes> Of(absl::string_view op,
                           const OpVariables& variables) const;

 private:
  struct Room {
    std::string op;
    Expression data;
    Expression code;
  };
  std::vector<Room> rooms_;
};

// What is wrong with a recipe's host_rooms: an op that does not exist or occurs
// twice, an expression that does not compile, a missing provenance.
absl::Status ValidateHostRooms(const v1::TargetDescriptor& descriptor,
                               const v1::RecipeDescriptor& recipe);

}  // namespace edgekiln::target

#endif  // EK_TARGET_HOST_ROOMS_H_
