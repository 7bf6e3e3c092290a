#ifndef EK_CLIENT_RENDER_BAR_H_
#define EK_CLIENT_RENDER_BAR_H_

#include <string>

#include "client/render/text.h"

namespace edgekiln::client {

// A bar for `part` of 1 in at most `width` columns: in eighths of a column with
// UTF-8, else of '#'. Empty only for what is not more than 0.
std::string Bar(double part, int width, const Style& style);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_BAR_H_
