#ifndef EK_SIMFARM_SESSION_FIRMWARE_VALUES_H_
#define EK_SIMFARM_SESSION_FIRMWARE_VALUES_H_

// Values of tensors in the memory of a core. Layouts lie in one region each:
// loading checked that.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "simfarm/simulators/rv32/machine.h"
#include "target/layout.h"

namespace edgekiln::simfarm {

// Writes dense values. Bytes between them stay as they are.
absl::Status WriteValues(uint64_t address, const target::Layout& layout,
                         absl::string_view values, rv32::Machine& machine);

// The values, dense; in place if they lie so, else gathered into `buffer`.
// FAILED_PRECONDITION, with `what`, if the run is checked and nothing wrote one
// of the bytes.
absl::StatusOr<absl::string_view> ReadValues(uint64_t address,
                                             const target::Layout& layout,
                                             absl::string_view what,
                                             const rv32::Machine& machine,
                                             std::string& buffer);

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_SESSION_FIRMWARE_VALUES_H_
