#include "server/daemon/http/route.h"

#include <set>
#include <string>

#include "gtest/gtest.h"
#include "server/daemon/http/call_message.h"

namespace edgekiln::server {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

TEST(RouteTest, FindsMethodsAndFields) {
  const RouteMatch list = FindRoute("GET", "/v1/jobs");
  ASSERT_NE(list.route, nullptr);
  EXPECT_EQ(list.route->method, "edgekiln.v1.Jobs.ListJobs");
  const RouteMatch cancel = FindRoute("POST", "/v1/jobs/j1:cancel");
  ASSERT_NE(cancel.route, nullptr);
  EXPECT_EQ(cancel.route->method, "edgekiln.v1.Jobs.CancelJob");
  EXPECT_EQ(cancel.fields, (Fields{{"id", "j1"}}));
  EXPECT_EQ(FindRoute("HEAD", "/v1/jobs/j1/reports/2").fields,
            (Fields{{"job_id", "j1"}, {"target", "2"}}));
  EXPECT_EQ(FindRoute("GET", "/v1/jobs/j1/reports/2/html").fields,
            (Fields{{"job_id", "j1"}, {"target", "2"}, {"format", "html"}}));
}

TEST(RouteTest, SaysWhichVerbsAPathHas) {
  const RouteMatch match = FindRoute("DELETE", "/v1/jobs");
  EXPECT_EQ(match.route, nullptr);
  EXPECT_EQ(match.verbs, (std::vector<absl::string_view>{"GET", "POST"}));
  for (const char* path :
       {"", "/", "/v1", "/v1/jobs/", "/v1/jobs//events", "/v1/jobs/a/b/c"}) {
    EXPECT_TRUE(FindRoute("POST", path).verbs.empty()) << path;
    EXPECT_EQ(FindRoute("POST", path).route, nullptr) << path;
  }
}

// Every method is linked, has the fields of its path, and no two routes are the
// same.
TEST(RouteTest, RoutesAreWhole) {
  std::set<std::string> seen;
  for (const Route& route : Routes()) {
    EXPECT_TRUE(
        seen.insert(std::string(route.verb) + std::string(route.path)).second);
    const auto* const method = MethodNamed(route.method);
    ASSERT_NE(method, nullptr) << route.method;
    std::string path(route.path);
    for (size_t open = 0; (open = path.find('{')) != std::string::npos;) {
      const size_t close = path.find('}');
      const std::string name = path.substr(open + 1, close - open - 1);
      EXPECT_NE(method->input_type()->FindFieldByName(name), nullptr) << name;
      path.replace(open, close - open + 1, "x");
    }
    EXPECT_EQ(FindRoute(route.verb, path).route, &route) << path;
  }
}

}  // namespace
}  // namespace edgekiln::server
