#ifndef EK_COMPILER_CODEGEN_PLACEMENT_PREDICTION_H_
#define EK_COMPILER_CODEGEN_PLACEMENT_PREDICTION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/estimate_memo.h"
#include "compiler/codegen/machine_backends.h"
#include "compiler/codegen/turns.h"
#include "compiler/partition/op_forms.h"
#include "edgekiln/v1/target.pb.h"
#include "target/host_cost.h"

namespace edgekiln::compiler {

// Upper bound of the cycles of one op or region, so that sums over a network
// cannot overflow. Also stands for an op that does not fit its engine's memory.
inline constexpr int64_t kMaxPredictedCycles = int64_t{1} << 48;

// Predicts cycles of the wall clock for ops in any of their forms, without
// planning: the back ends' estimates, moves at borders included, and the host's
// cost table. Remembers estimates. Not thread-safe.
class PlacementPredictor {
 public:
  // All must outlive it. `memo`: of the machine; may be null.
  PlacementPredictor(const OpForms& forms, const v1::Machine& machine,
                     EstimateMemo* memo = nullptr);
  absl::Status Init();

  bool HostDriven(int32_t engine) const;

  // Cycles of one op in a form, by itself; nothing if an engine's memory is too
  // small.
  absl::StatusOr<std::optional<int64_t>> Alone(int32_t op, const OpForm& form);

  // Cycles of the whole network; for engines that the host drives, in the order
  // in which it would start them. Reshapes go where their producers are,
  // whatever `placed` says of them.
  absl::StatusOr<int64_t> Predict(std::vector<OpForm> placed);

  // Work done so far: 1 per op or region of each prediction, plus the ops of
  // each region whose estimate was not cached.
  int64_t effort() const { return effort_; }

 private:
  // An op of one of the two graphs.
  struct Part {
    bool split = false;  // Of forms_.split.
    int32_t op = 0;
    int32_t engine = -1;
  };
  // Of one of the graphs.
  struct GraphState {
    explicit GraphState(const Graph& graph);
    const Graph& graph;
    RegionMaker maker;
    std::vector<int64_t> host_cycles;  // By op; -1: not known yet.
    std::map<std::pair<int32_t, std::vector<int32_t>>, std::optional<int64_t>>
        estimates;
  };

  GraphState& StateOf(const Part& part) { return part.split ? split_ : whole_; }
  // The op's index in forms_.split, whatever its form.
  int32_t IndexOf(const Part& part) const {
    return part.split ? part.op : forms_.in_split[part.op];
  }
  absl::StatusOr<std::optional<int64_t>> Estimate(const Region& region,
                                                  int32_t engine);
  std::vector<Part> PartsOf(int32_t op, const OpForm& form) const;
  absl::StatusOr<int64_t> HostCycles(const Part& part);
  // Of the op in a form with this window, image and kernel.
  absl::StatusOr<int64_t> OtherFormCycles(int32_t op,
                                          const v1::OpAttributes& attributes,
                                          TensorId image,
                                          const Tensor& kernel) const;
  absl::StatusOr<std::optional<int64_t>> EngineCycles(const Part& first,
                                                      std::vector<int32_t> ops);
  void FollowReshapes(std::vector<OpForm>& placed) const;
  // Adds the work of `parts`: one op of the host or of an engine that it
  // drives, or neighbours on an engine that runs streams.
  absl::Status AddWork(const std::vector<Part>& parts, std::vector<Work>& works,
                       std::vector<int32_t>& work_of);

  const OpForms& forms_;
  const v1::Machine& machine_;
  EstimateMemo* const memo_;
  target::HostCosts costs_;
  const std::vector<int32_t> producers_;  // In forms_.whole.
  GraphState whole_;
  GraphState split_;
  MachineBackends machine_backends_;
  std::vector<const EngineBackend*> backends_;  // By engine.
  int64_t effort_ = 0;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_PLACEMENT_PREDICTION_H_
