#ifndef EK_CLIENT_LSP_OPEN_FILE_H_
#define EK_CLIENT_LSP_OPEN_FILE_H_

// A file that the editor has open, with what is known of it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/lsp/check.h"
#include "client/lsp/daemon.h"
#include "client/lsp/document.h"
#include "client/lsp/file_finder.h"
#include "client/lsp/schema.h"
#include "client/lsp/syntax.h"

namespace edgekiln::client::lsp {

enum class RunState { kNone, kRunning, kDone, kFailed };

// Not thread-safe.
class OpenFile {
 public:
  // `schema` must outlive the file.
  OpenFile(std::string uri, std::string text, int64_t version,
           const Schema& schema);

  void Apply(const Edit& edit, int64_t version, Encoding encoding);

  const std::string& uri() const { return uri_; }
  // Empty for what is not a file: "untitled:1".
  const std::string& path() const { return path_; }
  const Document& document() const { return document_; }
  const std::string& text() const { return document_.text(); }
  int64_t version() const { return document_.version(); }
  Range RangeOf(Span span, Encoding encoding) const {
    return document_.lines().RangeOf(text(), span, encoding);
  }

  // Of the present text; of one that is too large, empty and null. Read when it
  // is asked for.
  const Syntax& syntax();
  const FileKind* kind();
  bool is_target();

  // Whether the text has changed since this was called last.
  bool TakeChanged() { return std::exchange(changed_, false); }
  void SetChanged() { changed_ = true; }

  // What the schema says, what the daemon says, and what profiling says, of the
  // text that they were asked for.
  std::vector<Problem> local;
  std::vector<Problem> checked;
  std::vector<Problem> profiled;

  RunState run_state = RunState::kNone;
  std::string model;                       // Path of what was profiled last.
  std::optional<Figures> figures;          // Of the newest run that ended well.
  int64_t figures_version = 0;             // The text that they are of.
  std::optional<int64_t> run_version;      // The text that was run last.
  std::string failure;                     // Of kFailed: why, in one line.
  std::optional<int64_t> baseline_cycles;  // When it was opened.
  bool stale = false;  // The present text has errors: figures are older.
  // The text whose run the daemon was lost in; whether it is run again once the
  // daemon answers.
  std::optional<int64_t> lost_version;
  bool run_again = false;

  // The files that it names which were looked for, and those not found.
  std::vector<std::string> looked_for;
  MissingFiles missing;

 private:
  void Read();

  const Schema& schema_;
  const std::string uri_;
  const std::string path_;
  Document document_;
  bool changed_ = true;
  bool read_ = false;  // Whether the following are of the present text.
  Syntax syntax_;
  const FileKind* kind_ = nullptr;
};

// The path of a "file:" URI, its %XX decoded; empty for others.
std::string PathOf(const std::string& uri);

// All problems of the file that are to be shown.
std::vector<Problem> ProblemsOf(const OpenFile& file);

// Where a lens stands, and problems of the whole file: the key of its first
// field.
Span HeadOf(OpenFile& file);

// "2 310 400 cycles (-3.2 %) · 23.1 ms · SRAM 384 KiB"; while the first run
// lasts, or after one that failed, what there is to say. Empty without a run.
std::string FiguresText(const OpenFile& file);

}  // namespace edgekiln::client::lsp

#endif  // EK_CLIENT_LSP_OPEN_FILE_H_
