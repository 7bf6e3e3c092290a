#ifndef EK_CLIENT_PARETO_H_
#define EK_CLIENT_PARETO_H_

#include <vector>

namespace edgekiln::client {

// Of points, all with as many finite coordinates, whether no other is as small
// in each coordinate and smaller in one. Equal points are all or none on the
// front.
std::vector<bool> ParetoFront(const std::vector<std::vector<double>>& points);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_PARETO_H_
