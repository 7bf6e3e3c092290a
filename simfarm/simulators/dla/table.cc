#include "simfarm/simulators/dla/table.h"

#include "absl/strings/str_cat.h"
#include "simfarm/simulators/arithmetic.h"

namespace edgekiln::simfarm::dla {

using Reg = DlaRegister;

absl::Status ReadTable(const Instruction& instruction,
                       const StreamContext& context, const uint8_t* entries,
                       Table* table) {
  const int64_t channels = instruction[Reg::kOutC];
  const bool bias_only = WritesInt32(instruction);
  const int64_t padded =
      (channels + kTableAlignment - 1) / kTableAlignment * kTableAlignment;
  table->bias.resize(padded);
  table->multiplier.resize(padded);
  table->n.resize(padded);
  for (int64_t c = 0; c < channels; ++c) {
    const uint8_t* entry = entries + c * target::kDlaTableEntryBytes;
    table->bias[c] = LoadInt32(entry);
    if (bias_only) continue;
    const int32_t multiplier = LoadInt32(entry + 4);
    const int32_t shift = LoadInt32(entry + 8);
    if (multiplier < 0 || shift < -31 || shift > 30) {
      return ProgramError(instruction, context,
                          absl::StrCat("table entry ", c, " has multiplier ",
                                       multiplier, " and shift ", shift),
                          SramAddress(instruction[Reg::kTableAddr] +
                                      c * target::kDlaTableEntryBytes),
                          "multiplier >= 0, shift -31 to 30");
    }
    table->multiplier[c] = multiplier;
    table->n[c] = 31 - shift;
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::simfarm::dla
