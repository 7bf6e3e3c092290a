#ifndef EK_SIMFARM_HOT_SPOTS_HOT_SPOTS_H_
#define EK_SIMFARM_HOT_SPOTS_HOT_SPOTS_H_

// Functions, source lines and loops in which an inference of firmware spent its
// instructions.

#include "edgekiln/v1/firmware.pb.h"
#include "edgekiln/v1/hot_spots.pb.h"
#include "simfarm/hot_spots/line_table.h"
#include "simfarm/session/firmware_profile.h"

namespace edgekiln::simfarm {

// Where lists are cut off.
inline constexpr int kMaxHotFunctions = 200;
inline constexpr int kMaxHotLines = 500;
inline constexpr int kMaxHotLoops = 8;

// `sources` are those that the firmware was compiled from: lines of other files
// have no text. What has no line stands in one line without a file for each
// function. Functions sum to the instructions and cycles of the inference, and
// so do lines, unless they are cut off.
v1::HotSpots FindHotSpots(const FirmwareProfile& profile,
                          const LineTable& lines,
                          const v1::CSourceTree& sources);

}  // namespace edgekiln::simfarm

#endif  // EK_SIMFARM_HOT_SPOTS_HOT_SPOTS_H_
