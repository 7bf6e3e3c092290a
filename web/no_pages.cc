// In the place of pages.cc where there is no esbuild.
#include "web/pages.h"

namespace edgekiln::web {

std::optional<Page> ReportPage() { return std::nullopt; }
std::optional<Page> SweepPage() { return std::nullopt; }
std::optional<Page> DashboardPage() { return std::nullopt; }

}  // namespace edgekiln::web
