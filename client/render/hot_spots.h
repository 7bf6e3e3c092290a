#ifndef EK_CLIENT_RENDER_HOT_SPOTS_H_
#define EK_CLIENT_RENDER_HOT_SPOTS_H_

// Where an inference spends its instructions, for people. Pure.

#include <string>

#include "edgekiln/v1/report.pb.h"
#include "reports/text/text.h"

namespace edgekiln::client {

// Of each list the first ones; --json has more.
inline constexpr int kShownFunctions = 10;
inline constexpr int kShownLines = 10;
inline constexpr int kShownLoops = 3;
inline constexpr int kShownLoopInstructions = 40;

// Functions, source lines and loops of Report.hot_spots, each part followed by
// an empty line. Empty where there are none.
std::string RenderHotSpots(const v1::Report& report, const Style& style);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_HOT_SPOTS_H_
