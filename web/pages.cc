#include "web/pages.h"

namespace edgekiln::web {
namespace {

constexpr Page kReport = {
#include "web/report.inc"
};
constexpr Page kSweep = {
#include "web/sweep.inc"
};
constexpr Page kDashboard = {
#include "web/dashboard.inc"
};

}  // namespace

std::optional<Page> ReportPage() { return kReport; }
std::optional<Page> SweepPage() { return kSweep; }
std::optional<Page> DashboardPage() { return kDashboard; }

}  // namespace edgekiln::web
