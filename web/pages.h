#ifndef EK_WEB_PAGES_H_
#define EK_WEB_PAGES_H_

// The HTML pages of reports, sweeps and the dashboard, as esbuild bundles them
// when edgekiln is built.

#include <optional>

#include "absl/strings/string_view.h"

namespace edgekiln::web {

// The same bytes in every build of the same sources.
struct Page {
  absl::string_view style;
  absl::string_view script;
  // What the script fills in. Of the dashboard: a whole document, which loads
  // /app.css and /app.js.
  absl::string_view body;
};

// Nothing in a build without pages (EK_WEB_PAGES).
std::optional<Page> ReportPage();
std::optional<Page> SweepPage();
std::optional<Page> DashboardPage();

// For errors of a build without pages.
inline constexpr char kNoPages[] = "NO_PAGES";
inline constexpr char kNoPagesNeed[] =
    "esbuild, which was not installed when edgekiln was built";
inline constexpr char kNoPagesFix[] =
    "install the package esbuild, run cmake and build again";

}  // namespace edgekiln::web

#endif  // EK_WEB_PAGES_H_
