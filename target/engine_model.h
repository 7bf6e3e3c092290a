#ifndef EK_TARGET_ENGINE_MODEL_H_
#define EK_TARGET_ENGINE_MODEL_H_

// What an engine model gives a meaning to in a descriptor: which descriptors
// are legal for it.

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/target.pb.h"
#include "google/protobuf/any.pb.h"

namespace edgekiln::target {

// Stateless, hence thread-safe.
class EngineModel {
 public:
  virtual ~EngineModel() = default;

  // What the folders of the model are called.
  virtual absl::string_view folder() const = 0;

  // Whether the model can be driven by the instructions of this engine of
  // `machine`, and works with the memories and links it has there. Instruction
  // sets passed IsaView::Create(), memories and links hold together.
  // INVALID_ARGUMENT names what is wrong.
  virtual absl::Status ValidateEngine(const v1::Machine& machine,
                                      int32_t engine) const = 0;

  // Whether this engine of `machine`, which passed ValidateEngine(), can run
  // every op of the pattern with its numerics. INVALID_ARGUMENT names the
  // pattern, and the command, job or key.
  virtual absl::Status ValidatePattern(const v1::OpPattern& pattern,
                                       const v1::Machine& machine,
                                       int32_t engine) const = 0;

  // Conditions that every op of that name must also meet, over its variables
  // (op_variables.h): limits of the model, and of the widths of the engine's
  // registers; `sums` if its output is int32 sums. `engine` passed
  // ValidateEngine(). Sizes that back ends cut into tiles are no condition.
  // Empty for ops that the model does not have.
  virtual absl::StatusOr<std::vector<v1::OpPattern::Condition>>
  ImpliedConditions(const v1::Machine& /*machine*/, int32_t /*engine*/,
                    absl::string_view /*op*/, bool /*sums*/) const {
    return std::vector<v1::OpPattern::Condition>();
  }

  // What a recipe has for tiling: the model's own message, packed again in its
  // one form. INVALID_ARGUMENT if it is another one, or holds what that has no
  // field for.
  virtual absl::StatusOr<google::protobuf::Any> ValidateTileDecisions(
      const google::protobuf::Any& decisions) const = 0;
};

// The model that has this number; null if there is none. Defined in
// engine_models.cc alone; tests may link testing/engines/engine_models.cc
// instead, which lists more.
const EngineModel* EngineModelOf(v1::EngineDescriptor::Model model);

// INVALID_ARGUMENT, with the list of models, if there is none.
absl::StatusOr<const EngineModel*> FindEngineModel(
    v1::EngineDescriptor::Model model);

}  // namespace edgekiln::target

#endif  // EK_TARGET_ENGINE_MODEL_H_
