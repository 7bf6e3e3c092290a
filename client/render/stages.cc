#include "client/render/stages.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "reports/text/table.h"

namespace edgekiln::client {
namespace {

struct StageGroup {
  std::string name;
  std::map<int, int> count_by_cache;  // Key: Report.Stage.Cache.
  int runs = 0;
  double seconds = 0;
  double cpu_seconds = 0;
};

std::vector<StageGroup> GroupStages(const Stages& stages) {
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

std::string RenderStages(const Stages& stages, const Style& style) {
  Table table(
      {{"STAGE"}, {"CACHE"}, {"TIME", Align::kRight}, {"CPU", Align::kRight}});
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

std::string StagesText(const Stages& stages) {
  int64_t hits = 0;
  double cpu_seconds = 0;
  for (const v1::Report::Stage& stage : stages) {
    if (stage.cache() == v1::Report::Stage::HIT) ++hits;
    cpu_seconds += stage.cpu_seconds();
  }
  std::string text = GroupDigits(stages.size());
  if (hits > 0) {
    absl::StrAppend(&text, hits == stages.size() ? ", all" : ", ",
                    hits == stages.size() ? "" : GroupDigits(hits),
                    " from the cache");
  }
  if (cpu_seconds > 0) {
    absl::StrAppend(&text, "   ", FormatTimeSpan(absl::Seconds(cpu_seconds)),
                    " of CPU");
  }
  return text + "   (--stages lists them)";
}

}  // namespace edgekiln::client
