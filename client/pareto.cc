#include "client/pareto.h"

#include <vector>

namespace edgekiln::client {
namespace {

// Of points that are not equal.
bool Dominates(const std::vector<double>& a, const std::vector<double>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
  }
  return true;
}

}  // namespace

void GrowingFront::Add(const std::vector<double>& point) {
  const size_t number = on_front_.size();
  on_front_.push_back(false);
  for (Place& place : front_) {
    if (place.point == point) {
      place.numbers.push_back(number);
      on_front_[number] = true;
      return;
    }
    if (Dominates(place.point, point)) return;
  }
  std::erase_if(front_, [&](const Place& place) {
    if (!Dominates(point, place.point)) return false;
    for (const size_t beaten : place.numbers) on_front_[beaten] = false;
    return true;
  });
  front_.push_back({.point = point, .numbers = {number}});
  on_front_[number] = true;
}

}  // namespace edgekiln::client
