#ifndef EK_SIMFARM_SIMULATORS_RV32_CALL_TRACKER_H_
#define EK_SIMFARM_SIMULATORS_RV32_CALL_TRACKER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace edgekiln::simfarm::rv32 {

// Which observed functions are open, innermost last. A function has returned
// when the core reaches the return address it was entered with, at the sp it
// was entered with: recursion returns to the same address at another sp.
class CallTracker {
 public:
  void Observe(const std::vector<uint32_t>& entries);
  void Clear() { open_.clear(); }

  // The index of the function that begins at `pc`.
  std::optional<int> FunctionAt(uint32_t pc) const;

  void Enter(int function, uint32_t return_address, uint32_t sp);
  int depth() const { return static_cast<int>(open_.size()); }

  // Closes the innermost call that returns by reaching `pc` at `sp`, and calls
  // inside of it that were left in another way, and gives its function. Absent
  // if there is none.
  std::optional<int> Return(uint32_t pc, uint32_t sp);

 private:
  struct Call {
    int function = 0;
    uint32_t return_address = 0;
    uint32_t sp = 0;
  };
  std::map<uint32_t, int> functions_;
  std::vector<Call> open_;
};

}  // namespace edgekiln::simfarm::rv32

#endif  // EK_SIMFARM_SIMULATORS_RV32_CALL_TRACKER_H_
