#ifndef EK_TARGET_ENGINE_MODEL_H_
#define EK_TARGET_ENGINE_MODEL_H_

// What an engine model gives a meaning to in a descriptor: which descriptors
// are legal for it.

#include <cstdint>

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

  // Whether `engine`, which passed ValidateEngine(), can run the pattern.
  // INVALID_ARGUMENT names the pattern, and the command, limit or register.
  virtual absl::Status ValidatePattern(
      const v1::OpPattern& pattern,
      const v1::Machine::Engine& engine) const = 0;

  // What a recipe has for tiling: the model's own message, packed again in its
  // one form. INVALID_ARGUMENT if it is another one, or holds what that has no
  // field for.
  virtual absl::StatusOr<google::protobuf::Any> ValidateTileDecisions(
      const google::protobuf::Any& decisions) const = 0;
};

// INVALID_ARGUMENT, with the list of models, if there is none.
absl::StatusOr<const EngineModel*> FindEngineModel(
    v1::EngineDescriptor::Model model);

}  // namespace edgekiln::target

#endif  // EK_TARGET_ENGINE_MODEL_H_
