#ifndef EK_CLIENT_LSP_DAEMON_H_
#define EK_CLIENT_LSP_DAEMON_H_

// What the language server asks of the daemon. Nothing here waits; answers come
// later.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "edgekiln/v1/error.pb.h"

namespace edgekiln::client::lsp {

// Of a model on the target of a file.
struct Figures {
  int64_t cycles = 0;
  double latency_ms = 0;
  std::string memory{};  // "SRAM", "RAM"; empty: nothing is known of it.
  int64_t memory_bytes = 0;

  friend bool operator==(const Figures&, const Figures&) = default;
};

// The target of a file was checked.
struct CheckAnswer {
  std::string uri;
  int64_t version = 0;
  bool valid = false;
  v1::ErrorDetail problem{};  // Unless valid.
  // Not the file's fault: it could not be checked.
  bool failed = false;
};

// A model was profiled on the target of a file.
struct RunAnswer {
  std::string uri;
  int64_t version = 0;
  std::optional<Figures> figures{};
  v1::ErrorDetail problem{};  // Without figures.
  // The daemon was lost. Whether it is back, the next ListAnswer or ReachAnswer
  // says.
  bool away = false;
};

struct ListAnswer {
  std::vector<std::pair<std::string, std::string>> targets;  // Name, doc.
};

struct TargetAnswer {
  std::string name;
  std::string text;  // Empty: the daemon has no such target.
};

// The daemon answers again (after every start, too), or does not.
struct ReachAnswer {
  bool reached = false;
  v1::ErrorDetail problem{};  // Unless reached.
};

using DaemonAnswer =
    std::variant<CheckAnswer, RunAnswer, ListAnswer, TargetAnswer, ReachAnswer>;

struct RunRequest {
  std::string uri;
  int64_t version = 0;
  std::string target_name;
  std::string text;
  std::string model;  // Absolute path.
};

class Daemon {
 public:
  virtual ~Daemon() = default;

  // Of each file only the newest check counts: older ones that have not begun
  // are dropped without an answer.
  virtual void Check(const std::string& uri, int64_t version,
                     const std::string& text) = 0;
  // Cancels an older run of the same file, which then has no answer.
  virtual void Run(RunRequest request) = 0;
  // Cancels what is asked for that file.
  virtual void Forget(const std::string& uri) = 0;
  virtual void List() = 0;
  virtual void LookUp(const std::string& target) = 0;
};

}  // namespace edgekiln::client::lsp

#endif  // EK_CLIENT_LSP_DAEMON_H_
