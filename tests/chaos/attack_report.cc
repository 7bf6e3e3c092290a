#include "tests/chaos/attack_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

namespace edgekiln::chaos {
namespace {

std::string HonestLine(const char* name, const HonestCount& count) {
  return absl::StrFormat("  %-12s %6d %6d %6d %6d %6d %8d %8d %8.0f %8.0f\n",
                         name, count.jobs(), count.right, count.wrong,
                         count.failed, count.late, count.refusals,
                         count.restarts, absl::ToDoubleMilliseconds(count.p50),
                         absl::ToDoubleMilliseconds(count.p99));
}

std::string UsageLine(const char* name, const Usage& usage) {
  return absl::StrFormat("  %-12s %8.1f %12d %8d\n", name,
                         static_cast<double>(usage.rss_bytes) / 1e6,
                         usage.descriptors, usage.threads);
}

std::string CpuLine(const char* name, const CpuUse& use) {
  if (use.empty()) return "";
  std::string line = absl::StrFormat("processors used, %s:", name);
  for (const auto& [group, share] : use) {
    absl::StrAppendFormat(&line, " %s %.2f", group, share);
  }
  return line + "\n";
}

nlohmann::json ToJson(const HonestTimes& times) {
  return {{"total_ms", absl::ToDoubleMilliseconds(times.total)},
          {"prepare_ms", absl::ToDoubleMilliseconds(times.prepare)},
          {"create_ms", absl::ToDoubleMilliseconds(times.create)},
          {"wait_ms", absl::ToDoubleMilliseconds(times.wait)},
          {"stages_ms", absl::ToDoubleMilliseconds(times.stages)},
          {"stage_cpu_ms", absl::ToDoubleMilliseconds(times.stage_cpu)},
          {"told_ms", absl::ToDoubleMilliseconds(times.told)},
          {"fetch_ms", absl::ToDoubleMilliseconds(times.fetch)}};
}

nlohmann::json ToJson(const HonestCount& count) {
  return {{"jobs", count.jobs()},
          {"right", count.right},
          {"wrong", count.wrong},
          {"failed", count.failed},
          {"late", count.late},
          {"refusals", count.refusals},
          {"restarts", count.restarts},
          {"p50_ms", absl::ToDoubleMilliseconds(count.p50)},
          {"p99_ms", absl::ToDoubleMilliseconds(count.p99)},
          {"slowest", ToJson(count.slowest)},
          {"slow_jobs", count.slow_jobs},
          {"complaints", count.complaints}};
}

nlohmann::json ToJson(const CpuUse& use) {
  nlohmann::json processors = nlohmann::json::object();
  for (const auto& [group, share] : use) processors[group] = share;
  return processors;
}

nlohmann::json ToJson(const Usage& usage) {
  return {{"rss_bytes", usage.rss_bytes},
          {"descriptors", usage.descriptors},
          {"threads", usage.threads}};
}

}  // namespace

std::string AttackTable(const AttackResult& result) {
  std::string out = absl::StrFormat(
      "\nhonest clients   jobs  right  wrong failed   late  refused restarts  "
      "p50 ms "
      " p99 ms\n");
  out += HonestLine("undisturbed", result.undisturbed);
  out += HonestLine("attacked", result.disturbed);
  absl::StrAppendFormat(&out, "  %d passes, p99 %.2fx\n", result.passes,
                        result.slowdown());
  absl::StrAppend(&out, "  slowest twentieth, undisturbed: ",
                  TimesText(result.undisturbed.slowest), "\n",
                  "  slowest twentieth, attacked:    ",
                  TimesText(result.disturbed.slowest), "\n");
  for (const std::string& complaint : result.disturbed.complaints) {
    absl::StrAppend(&out, "  - ", complaint, "\n");
  }
  absl::StrAppend(&out, "\ndaemon         RSS MB  descriptors  threads\n",
                  UsageLine("before", result.before),
                  UsageLine("at most", result.peak),
                  UsageLine("after", result.after));
  absl::StrAppend(&out, CpuLine("undisturbed", result.undisturbed_cpu),
                  CpuLine("attacked", result.disturbed_cpu));
  absl::StrAppend(
      &out, "\nattacker         actions  refused  unanswered  breaches\n");
  for (const AttackerCount& count : result.attackers) {
    absl::StrAppendFormat(&out, "  %-12s %9d %8d %11d %9d\n", count.name,
                          count.actions, count.refusals, count.unanswered,
                          count.breaches);
  }
  absl::StrAppend(&out, "\n");
  for (const Check& check : result.checks) {
    absl::StrAppendFormat(&out, "  %-6s %-14s %s\n",
                          check.passed ? "ok" : "FAILED", check.name,
                          check.text);
  }
  if (!result.kept.empty()) {
    absl::StrAppend(&out, "\nstate and logs: ", result.kept, "\n");
  }
  return out;
}

std::string AttackJson(const AttackOptions& options,
                       const AttackResult& result) {
  nlohmann::json attackers = nlohmann::json::array();
  for (const AttackerCount& count : result.attackers) {
    attackers.push_back({{"name", count.name},
                         {"actions", count.actions},
                         {"refusals", count.refusals},
                         {"unanswered", count.unanswered},
                         {"breaches", count.breaches}});
  }
  nlohmann::json checks = nlohmann::json::array();
  for (const Check& check : result.checks) {
    checks.push_back({{"name", check.name},
                      {"passed", check.passed},
                      {"timing", check.timing},
                      {"text", check.text}});
  }
  const nlohmann::json all = {
      {"seed", options.seed},
      {"seconds", absl::ToDoubleSeconds(options.length)},
      {"clients", options.clients},
      {"undisturbed", ToJson(result.undisturbed)},
      {"attacked", ToJson(result.disturbed)},
      {"undisturbed_processors", ToJson(result.undisturbed_cpu)},
      {"attacked_processors", ToJson(result.disturbed_cpu)},
      {"passes", result.passes},
      {"p99_ratio", result.slowdown()},
      {"daemon",
       {{"before", ToJson(result.before)},
        {"peak", ToJson(result.peak)},
        {"after", ToJson(result.after)},
        {"workers_peak_rss_bytes", result.workers_peak_rss_bytes},
        {"recovery_seconds", absl::ToDoubleSeconds(result.recovery)}}},
      {"attackers", attackers},
      {"checks", checks}};
  // Complaints may quote bytes of an attacker.
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

}  // namespace edgekiln::chaos
