#ifndef EK_SIMFARM_SESSION_LAYER_OBSERVER_H_
#define EK_SIMFARM_SESSION_LAYER_OBSERVER_H_

// Which layer of a network firmware is in: gives cycles to layers and shows
// their taps.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "simfarm/session/firmware_profile.h"
#include "simfarm/session/firmware_program.h"
#include "simfarm/session/session.h"
#include "simfarm/simulators/rv32/machine.h"

namespace edgekiln::simfarm {

// Follows one inference after the other. Cycles between a function's first
// instruction and its return belong to its layer, those before to it as well,
// up to the function before; those behind the last function to the last layer.
// Not thread-safe.
class LayerObserver : public rv32::FunctionObserver {
 public:
  // `firmware` must outlive this object.
  explicit LayerObserver(const FirmwareProgram& firmware)
      : firmware_(firmware) {}

  // From now on `recorder`, which must outlive this object, hears of each layer
  // that has ended.
  void Record(ProfileRecorder* recorder) { recorder_ = recorder; }

  // An inference begins. `visit` may be empty; it must live until End().
  void Begin(const TapVisitor* visit, const rv32::Totals& totals);
  // It has ended. FAILED_PRECONDITION if the function of a layer was not
  // called, or did not return. Errors of the visitor.
  absl::Status End(rv32::Machine& machine);

  // FAILED_PRECONDITION for functions that are not called one after the other,
  // in the order of layers.
  absl::Status OnEnter(int function, const rv32::Totals& totals,
                       rv32::Machine& machine) override;
  absl::Status OnReturn(int function, const rv32::Totals& totals,
                        rv32::Machine& machine) override;

  // Of the last inference, by layer, of the core's clock.
  const std::vector<int64_t>& layer_cycles() const { return cycles_; }
  // For errors: "layer conv1", "between layers", "setup".
  std::string Where() const;

 private:
  enum class State { kSetup, kBetween, kInLayer };

  std::string NameOf(int layer) const;
  bool HasCode(int layer) const {
    return firmware_.function_of_layer[layer] >= 0;
  }
  int num_layers() const {
    return static_cast<int>(firmware_.function_of_layer.size());
  }
  void Charge(int layer, const rv32::Totals& totals,
              const rv32::Machine& machine);
  // Of all layers before `end` whose taps were not shown yet.
  absl::Status ShowTaps(int end, rv32::Machine& machine);
  absl::Status Show(const LoadedTap& tap, int layer, rv32::Machine& machine);

  const FirmwareProgram& firmware_;
  ProfileRecorder* recorder_ = nullptr;
  State state_ = State::kSetup;
  const TapVisitor* visit_ = nullptr;
  int next_ = 0;   // The layer that is run or, with code, comes next.
  int shown_ = 0;  // Layers whose taps were shown.
  int64_t charged_until_ = 0;
  std::vector<int64_t> cycles_;
  std::string buffer_;
};

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SESSION_LAYER_OBSERVER_H_
