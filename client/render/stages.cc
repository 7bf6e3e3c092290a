#include "client/render/stages.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "client/render/table.h"

namespace edgekiln::client {
namespace {

using google::protobuf::RepeatedPtrField;

struct StageGroup {
  std::string name;
  std::map<int, int> count_by_cache;  // Key: Report.Stage.Cache.
  int runs = 0;
  double seconds = 0;
  double cpu_seconds = 0;
};

std::vector<StageGroup> GroupStages(
    const RepeatedPtrField<v1::Report::Stage>& stages) {
  std::vector<StageGroup> groups;
  for (const v1::Report::Stage& stage : stages) {
    const std::string name =
        CleanText(stage.name().substr(0, stage.name().find('[')));
    auto group =
        std::find_if(groups.begin(), groups.end(),
                     [&](const StageGroup& g) { return g.name == name; });
    if (group == groups.end()) {
      group = groups.insert(groups.end(), StageGroup{});
      group->name = name;
    }
    ++group->count_by_cache[stage.cache()];
    ++group->runs;
    group->seconds += stage.seconds();
    group->cpu_seconds += stage.cpu_seconds();
  }
  return groups;
}

// "HIT", or "12 HIT, 3 MISS".
std::string CacheText(const StageGroup& group) {
  std::vector<std::string> parts;
  for (const auto& [cache, count] : group.count_by_cache) {
    const std::string name =
        v1::Report::Stage::Cache_IsValid(cache) && cache != 0
            ? v1::Report::Stage::Cache_Name(
                  static_cast<v1::Report::Stage::Cache>(cache))
            : "-";
    parts.push_back(group.runs == 1 ? name : absl::StrCat(count, " ", name));
  }
  return absl::StrJoin(parts, ", ");
}

}  // namespace

std::string RenderStages(const RepeatedPtrField<v1::Report::Stage>& stages,
                         const Style& style) {
  Table table({{.title = "STAGE"},
               {.title = "CACHE"},
               {.title = "TIME", .align = Align::kRight},
               {.title = "CPU", .align = Align::kRight, .drop = 1}});
  for (const StageGroup& group : GroupStages(stages)) {
    const auto time = [](double seconds) {
      return seconds > 0 ? FormatTimeSpan(absl::Seconds(seconds))
                         : std::string("-");
    };
    table.AddRow({group.name, CacheText(group), time(group.seconds),
                  time(group.cpu_seconds)});
  }
  return table.Render(style);
}

}  // namespace edgekiln::client
