#ifndef EK_CLIENT_PARETO_H_
#define EK_CLIENT_PARETO_H_

#include <cstddef>
#include <vector>

namespace edgekiln::client {

// Of points that come one by one, all with as many finite coordinates, those
// than which no other is as small in each coordinate and smaller in one. Equal
// points are all or none on the front. Adding a point takes time proportional
// to the front, not to all points.
class GrowingFront {
 public:
  // Points are numbered 0, 1, 2, ...
  void Add(const std::vector<double>& point);
  // Whether the point is on the front of those added so far.
  bool Has(size_t number) const { return on_front_[number]; }

 private:
  struct Place {
    std::vector<double> point;
    std::vector<size_t> numbers;  // Of the points that are equal to it.
  };
  std::vector<Place> front_;
  std::vector<bool> on_front_;  // By number.
};

}  // namespace edgekiln::client

#endif  // EK_CLIENT_PARETO_H_
