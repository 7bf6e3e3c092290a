#include "reports/headline.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "reports/text/text.h"

namespace edgekiln {
namespace {

// As `describe` names it.
constexpr char kHost[] = "host";
constexpr char kCaller[] = "caller";  // On no processor of the target.

// Layers on the host for one reason.
struct Group {
  std::string reason;
  std::vector<std::string> ops;  // Kinds, in the order of the layers.
  int64_t layers = 0;
  int64_t cost = 0;
};

class Groups {
 public:
  void Add(const std::string& reason, const std::string& op, int64_t cost) {
    const std::string common = CleanText(CommonReason(reason));
    auto group =
        std::find_if(groups_.begin(), groups_.end(),
                     [&](const Group& g) { return g.reason == common; });
    if (group == groups_.end()) {
      group = groups_.insert(groups_.end(), Group{});
      group->reason = common;
    }
    const std::string kind = CleanText(op);
    if (std::find(group->ops.begin(), group->ops.end(), kind) ==
        group->ops.end()) {
      group->ops.push_back(kind);
    }
    ++group->layers;
    group->cost += cost;
  }

  // "array needs symmetric weights (conv2d: 24 layers, 97 % of cycles)". Of
  // equal costs the first.
  std::string Costliest(int64_t total, absl::string_view unit) const {
    const auto most = std::max_element(
        groups_.begin(), groups_.end(),
        [](const Group& a, const Group& b) { return a.cost < b.cost; });
    if (most == groups_.end()) return "";
    constexpr size_t kMostOps = 3;
    std::vector<std::string> ops = most->ops;
    if (ops.size() > kMostOps) {
      ops.resize(kMostOps);
      ops.back() = "...";
    }
    std::string text =
        absl::StrCat(most->reason, " (", absl::StrJoin(ops, ", "), ": ",
                     Count(most->layers, "layer", "layers"));
    if (total > 0) {
      absl::StrAppend(&text, ", ", Share(most->cost, total), " of ", unit);
    }
    return text + ")";
  }

  static std::string Share(int64_t part, int64_t whole) {
    return FormatPercent(static_cast<double>(part) / static_cast<double>(whole),
                         0);
  }

 private:
  std::vector<Group> groups_;
};

std::string LittleOnEngines(absl::string_view target, int64_t engine_macs,
                            int64_t macs, const std::string& reason) {
  const std::string share = engine_macs == 0 ? "none"
                            : engine_macs < macs / 100
                                ? "less than 1 %"
                                : Groups::Share(engine_macs, macs);
  return absl::StrCat(
      target, " runs ", share,
      " of this network's MACs; the host does the rest: ", reason);
}

}  // namespace

std::string CommonReason(absl::string_view reason) {
  std::string common;
  int depth = 0;
  for (const char c : reason) {
    if (c == '(') {
      if (depth++ == 0 && !common.empty() && common.back() == ' ') {
        common.pop_back();
      }
    } else if (c == ')') {
      depth = std::max(0, depth - 1);
    } else if (depth == 0) {
      common += c;
    }
  }
  return common;
}

std::string Headline(const v1::Report& report) {
  // A stored report of an older daemon has no shares of engines and host.
  if (report.totals().io() == v1::IO_FORM_UNSPECIFIED) return "";
  std::set<std::string> hosts;
  for (const v1::Report::Engine& engine : report.engines()) {
    if (engine.host()) hosts.insert(engine.name());
  }
  // Asked for, so no news.
  if (report.offload() == "none") return "";
  // A target that is its host alone disappoints nobody.
  if (report.engines_size() <= static_cast<int>(hosts.size())) return "";
  Groups groups;
  for (const v1::Report::Layer& layer : report.layers()) {
    if (hosts.count(layer.engine()) == 0) continue;
    groups.Add(layer.reason(), layer.op(), layer.cycles());
  }
  const v1::Report::Totals& totals = report.totals();
  const std::string reason = groups.Costliest(totals.cycles(), "cycles");
  if (reason.empty()) return "";
  const std::string target = report.target_name().empty()
                                 ? "the target"
                                 : CleanText(report.target_name());
  if (totals.engine_macs() < totals.macs() - totals.engine_macs()) {
    return LittleOnEngines(target, totals.engine_macs(), totals.macs(), reason);
  }
  if (totals.host_cycles() > totals.cycles() - totals.host_cycles()) {
    return absl::StrCat(
        "the host takes ", Groups::Share(totals.host_cycles(), totals.cycles()),
        " of the cycles on ", target, "; what costs most: ", reason);
  }
  return "";
}

std::string Headline(const v1::ModelDescription& model,
                     absl::string_view target) {
  const std::string chip = target.empty() ? "the target" : CleanText(target);
  Groups groups;
  int64_t engine_macs = 0;
  int64_t placed = 0;
  int64_t engine_layers = 0;
  for (const v1::ModelDescription::Layer& layer : model.layers()) {
    if (layer.engine().empty() || layer.engine() == kCaller) continue;
    ++placed;
    if (layer.engine() == kHost) {
      groups.Add(layer.reason(), layer.op(),
                 model.macs() > 0 ? layer.macs() : 1);
    } else {
      engine_macs += layer.macs();
      ++engine_layers;
    }
  }
  if (model.macs() > 0) {
    if (placed == 0 || engine_macs >= model.macs() - engine_macs) return "";
    return LittleOnEngines(chip, engine_macs, model.macs(),
                           groups.Costliest(model.macs(), "MACs"));
  }
  if (engine_layers >= placed - engine_layers) return "";
  return absl::StrCat(chip, " runs ", engine_layers, " of ",
                      Count(placed, "layer", "layers"),
                      "; the host does the rest: ", groups.Costliest(0, ""));
}

}  // namespace edgekiln
