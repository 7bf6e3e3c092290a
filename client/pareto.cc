#include "client/pareto.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace edgekiln::client {
namespace {

bool Dominates(const std::vector<double>& a, const std::vector<double>& b) {
  bool smaller = false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
    smaller = smaller || a[i] < b[i];
  }
  return smaller;
}

}  // namespace

// In lexicographic order none is dominated by a later one, and one that is, is
// so by a point of the front.
std::vector<bool> ParetoFront(const std::vector<std::vector<double>>& points) {
  std::vector<size_t> order(points.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return points[a] < points[b]; });
  std::vector<bool> on_front(points.size(), false);
  std::vector<size_t> front;
  for (const size_t point : order) {
    const bool dominated = std::any_of(
        front.begin(), front.end(),
        [&](size_t other) { return Dominates(points[other], points[point]); });
    if (dominated) continue;
    on_front[point] = true;
    // Of equal points one is enough to compare with.
    if (front.empty() || points[front.back()] != points[point]) {
      front.push_back(point);
    }
  }
  return on_front;
}

}  // namespace edgekiln::client
