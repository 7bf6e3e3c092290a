#include "client/render/bar.h"

#include <algorithm>
#include <cmath>

namespace edgekiln::client {

std::string Bar(double part, int width, const Style& style) {
  if (!(part > 0) || width <= 0) return "";
  const double columns = std::min(part, 1.0) * width;
  if (!style.utf8()) {
    const int whole = static_cast<int>(std::lround(columns));
    return std::string(std::max(whole, 1), '#');
  }
  // U+2588, the full block, in UTF-8; U+2589 to U+258F have an eighth less
  // each.
  constexpr char kEighths[] = "\xE2\x96\x88";
  const int eighths = std::max(1, static_cast<int>(std::lround(columns * 8)));
  std::string bar;
  for (int i = 0; i < eighths / 8; ++i) bar += kEighths;
  if (eighths % 8 > 0) {
    bar += kEighths;
    bar.back() = static_cast<char>(bar.back() + 8 - eighths % 8);
  }
  return bar;
}

}  // namespace edgekiln::client
