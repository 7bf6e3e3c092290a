#include "client/report_help.h"

#include "client/check/check_options.h"

namespace edgekiln::client {
namespace {

constexpr char kReportShow[] = R"(Examples:
  edgekiln report show last
      What the newest job printed, once more.
  edgekiln report show j06540c2 --target dla-64-o-512k --json > report.json
      One target of a job, named by the first characters of its id.
  edgekiln report show report.json
      A file that --json wrote, for people.

With several targets and --json: a list of Reports instead of one Report. The
exit code is that of the first target that failed, else 0.
)";

constexpr char kReportDiff[] = R"(Examples:
  edgekiln report diff 41 42
      Two jobs: totals, and the layers that changed, largest change first.
  edgekiln profile net.tflite --target dla-64-o-512k --json > new.json
  edgekiln report diff main.json new.json --max-regression 2%
      In CI, without a daemon: exit code 3 if cycles or a memory of the target
      grew by more than 2 %. Reports on several targets are compared target by
      target.
  edgekiln report diff main.json new.json --max-accuracy-drop 0.5
      Exit code 3 if accuracy fell by more than half a percentage point.
  edgekiln report diff 42 42 --target dla-64-o-512k --target dla-128-i-1m
      One job's reports on two chips.

A and B are jobs (`last` is the newest one), what --json printed, or files of
`edgekiln report baseline`.
With several targets and --json: a list of diffs instead of one.
)";

constexpr char kReportBaseline[] = R"(Examples:
  edgekiln profile net.tflite --target a --target b --json > new.json
  edgekiln report baseline new.json -o baseline.json
      Then commit baseline.json.
  edgekiln report diff baseline.json new.json --max-regression 2%
      In CI, against the next new.json.
  edgekiln report baseline 42
      Of a job.

A baseline is the report without what differs from run to run: job_id, stages[]
and gates[]. The same model, targets and options give the same bytes.
)";

constexpr char kReportHtml[] = R"(Examples:
  edgekiln profile net.tflite --target dla-64-o-512k --json > report.json
  edgekiln report html report.json -o report.html
      A page to look at: verdict, layers, timeline, memories, roofline,
      accuracy, stages. It is one file that loads nothing; open it in a browser,
      or send it.
  edgekiln report html last -o report.html
      The newest job. With several targets each has its view.
  edgekiln report html main.json new.json -o report.html
      Also what changed from the first report to each other one, as `report
      diff` has it.

A page has at most 2 MiB; the same reports give the same bytes. All figures are
those of the report: what it leaves out, the page leaves out.

The exit code is 0 once the page is written, whatever the verdict; 2 if there is
no such report; 1 if the page would be larger; 4 if the daemon cannot be
reached.
)";

constexpr char kReportExport[] = R"(Examples:
  edgekiln report export report.json --format csv -o layers.csv
      A line per layer, for a spreadsheet. Numbers have no unit and no grouping.
  edgekiln report export last --format markdown
      Verdict, totals and the layers that cost most, for a merge request.
  edgekiln report export last --format model-explorer -o cycles.json
      Load it as node data over the model in Model Explorer.
  edgekiln report export last --format perfetto -o trace.pftrace
      Engines, DMA, host and memories over time; open it in ui.perfetto.dev.
  edgekiln report export last --target dla-64-o-512k --format json
      The report as --json prints it.

The timeline of a report has at most 4096 segments, longer ones are merged; the
busy_cycles of a slice say how much of it is work. Counters of memories change
where a layer starts to compute.

The exit code is 0 once the file is written, whatever the verdict; 2 if there is
no such report; 4 if the daemon cannot be reached.
)";

}  // namespace

std::string ReportHelpFooter(Command command) {
  switch (command) {
    case Command::kReportShow:
      return kReportShow;
    case Command::kReportDiff:
      return kReportDiff;
    case Command::kReportBaseline:
      return kReportBaseline;
    case Command::kReportHtml:
      return kReportHtml;
    case Command::kReportExport:
      return kReportExport;
    default:
      return CheckHelpFooter(command);
  }
}

}  // namespace edgekiln::client
